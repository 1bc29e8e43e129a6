"""How classifiers are ranked."""

from __future__ import annotations

from dataclasses import dataclass

from brittle.commands import COMPARED, Command
from brittle.measures.failure_points.options import FailurePointsOptions
from brittle.registry.options import option


@dataclass(frozen=True)
class RankingOptions:
    """The options of the measure `ranking`."""

    sigma: float = option(
        1.0, "ties by overlap: intervals are this many standard errors to each side", above=0, rows=False
    )
    confidence: float = option(
        0.95, "ties by paired tests: probability that no difference is false, over all comparisons", above=0, below=1,
        rows=False,
    )  # fmt: skip


COMMAND = Command(
    "ranking",
    "Rank classifiers at every severity of a nuisance, with ties, and find those that change places.",
    RankingOptions,
    COMPARED,
    images=500,
    against="rank this classifier too; may be repeated",
    reads={"failure-points": FailurePointsOptions},
    unread=("only", "tolerance", "confidence"),
)
