"""How patches are shuffled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from brittle.commands import LOOKS, Command
from brittle.registry.options import option


@dataclass(frozen=True)
class ShufflingOptions:
    """The options of the measure `shuffling`."""

    grids: tuple[int, ...] = option(
        (2, 4), "patches across and down that are shuffled", least=2, most=64, fewest=1, extends=True
    )
    samples: int = option(4, "shuffles per image and grid", least=1, most=10**6, extends=True)
    moves: Literal["permutation", "cycle"] = option(
        "permutation", "by any permutation, the identity included, or in one cycle, so that no patch stays"
    )
    confidence: float = option(0.95, "confidence of every interval", above=0, below=1, rows=False)


COMMAND = Command(
    "shuffling",
    "Shuffle the patches of images, and tell what is left of accuracy.",
    ShufflingOptions,
    LOOKS,
    nuisance="none",
)
