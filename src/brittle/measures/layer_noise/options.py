"""How noise on the layers of a classifier rises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from brittle.commands import INSIDE, Command
from brittle.registry.options import option


@dataclass(frozen=True)
class LayerNoiseOptions:
    """The options of the measure `layer-noise`."""

    layers: tuple[str, ...] = option(
        (),
        "which layers: names, shell patterns, or numbers such as 0-5 (0 is the input, the last are the weights); those "
        "joined by + at once, such as 1+4; by default all, or 12 evenly spaced where there are more",
        extends=True,
    )
    noise: Literal["path", "fresh"] = option(
        "path", "one field per image and repeat that σ scales, or another one at every σ"
    )
    step: float = option(0.1, "by which σ rises", above=0)
    limit: float = option(5.0, "the largest σ; what has not changed there is censored", above=0)
    repeats: int = option(5, "fields of noise per image and layer", least=1, most=10**6, extends=True)
    networks: int = option(20, "noisy networks, where the weights are the layer", least=1, most=10**6, extends=True)
    confidence: float = option(0.95, "confidence of every interval", above=0, below=1, rows=False)


COMMAND = Command(
    "layer-noise",
    "Find the noise on each layer, and on the weights, at which a classifier's prediction changes.",
    LayerNoiseOptions,
    INSIDE,
    images=50,
    costly=True,
    nuisance="none",
)
