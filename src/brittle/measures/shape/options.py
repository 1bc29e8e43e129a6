"""How shape and texture are told apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from brittle.commands import LOOKS, Command
from brittle.registry.options import option


@dataclass(frozen=True)
class ShapeOptions:
    """The options of the measure `shape`. Image sets with a column `texture` (cue-conflict:…) are not shuffled."""

    grids: tuple[int, ...] = option(
        (2, 4), "patches across and down that are shuffled", least=2, most=64, fewest=1, extends=True
    )
    samples: int = option(4, "shuffles per image and grid", least=1, most=10**6, extends=True)
    moves: Literal["permutation", "cycle"] = option(
        "permutation", "by any permutation, the identity included, or in one cycle, so that no patch stays"
    )
    decisions: tuple[str, ...] = option(
        (), "a CSV file of decisions of people or models, as model-vs-human has them; may be repeated", rows=False
    )
    resamples: int = option(
        2000,
        "draws of the bootstrap for shape bias and consistency, at least: many differences take more",
        least=100,
        most=10**6,
        rows=False,
    )
    confidence: float = option(0.95, "of every interval", above=0, below=1, rows=False)


COMMAND = Command(
    "shape",
    "Shuffle patches, or set shape against texture (cue-conflict:…), and tell whose errors are alike.",
    ShapeOptions,
    LOOKS,
    nuisance="none",
)
