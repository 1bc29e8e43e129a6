"""How occlusion is measured."""

from __future__ import annotations

from dataclasses import dataclass

from brittle.commands import LOOKS, Command
from brittle.registry.options import option

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True)
class OcclusionOptions:
    """The options of the measure `occlusion`."""

    shares: tuple[float, ...] = option(
        SHARES, "the hidden shares, in place of that of a nuisance whose share is exact", above=0, most=1, fewest=1
    )
    repeats: int = option(1, "masks per image", least=1, most=10**6, extends=True)
    confidence: float = option(0.95, "confidence of every interval", above=0, below=1, rows=False)


COMMAND = Command(
    "occlusion",
    "Hide more and more of every image: accuracy by hidden share, and its gap between training and test images.",
    OcclusionOptions,
    LOOKS,
    images=1000,
    nuisance="optional",
    train=True,
)
