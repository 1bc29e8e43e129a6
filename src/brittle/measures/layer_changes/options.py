"""How changes of what the layers of a classifier give are searched for."""

from __future__ import annotations

from dataclasses import dataclass

from brittle.commands import INSIDE, Command
from brittle.registry.options import option


@dataclass(frozen=True)
class LayerChangesOptions:
    """The options of the measure `layer-changes`."""

    layers: tuple[str, ...] = option(
        (),
        "which layers: names, shell patterns, or numbers such as 0-5 (0 is the input, the last are the weights); those "
        "joined by + at once, such as 1+4; by default all but the weights, or 11 evenly spaced where there are more",
        extends=True,
    )
    targets: int = option(1, "other classes per image, drawn by the seed", least=1, most=10**6, extends=True)
    share: float = option(0.9, "the probability that the target must reach", above=0, below=1)
    rate: float = option(0.02, "Adam's step, in root mean squares of what the layer gives", above=0, most=10)
    steps: int = option(300, "Adam's steps after which a search has failed", least=1, most=10**6)
    confidence: float = option(0.95, "confidence of every interval", above=0, below=1, rows=False)


COMMAND = Command(
    "layer-changes",
    "Find the change of what each layer gives at which a classifier predicts a target.",
    LayerChangesOptions,
    INSIDE,
    images=50,
    costly=True,
    nuisance="none",
)
