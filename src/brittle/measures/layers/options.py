"""How the layers of a classifier are disturbed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from brittle.commands import INSIDE, Command
from brittle.registry.options import option


@dataclass(frozen=True)
class LayersOptions:
    """The options of the measure `layers`."""

    layers: tuple[str, ...] = option(
        (),
        "which layers: names, shell patterns, or numbers such as 0-5 (0 is the input, the last are the weights); by "
        "default all, or 12 evenly spaced where there are more",
        extends=True,
    )
    attack: Literal["random", "targeted"] = option(
        "random", "noise, or a change that is searched for until a target is predicted (weights left out)"
    )
    noise: Literal["path", "fresh"] = option(
        "path", "one field per image and repeat that σ scales, or another one at every σ"
    )
    step: float = option(0.1, "by which σ rises", above=0)
    limit: float = option(5.0, "the largest σ; what has not changed there is censored", above=0)
    repeats: int = option(5, "fields of noise per image and layer", least=1, most=10**6, extends=True)
    networks: int = option(20, "noisy networks, where the weights are the layer", least=1, most=10**6, extends=True)
    targets: int = option(1, "targeted: other classes per image, drawn by the seed", least=1, most=10**6, extends=True)
    share: float = option(0.9, "targeted: the probability that the target must reach", above=0, below=1)
    rate: float = option(0.02, "targeted: Adam's step, in root mean squares of what the layer gives", above=0, most=10)
    steps: int = option(300, "targeted: Adam's steps after which a search has failed", least=1, most=10**6)
    confidence: float = option(0.95, "of every interval", above=0, below=1, rows=False)


COMMAND = Command(
    "layers",
    "Find the noise, or the targeted change, of each layer that changes a classifier's prediction.",
    LayersOptions,
    INSIDE,
    images=50,
    costly=True,
    nuisance="none",
)
