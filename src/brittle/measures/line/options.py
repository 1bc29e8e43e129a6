"""How accuracy under a shift is held against accuracy without it."""

from __future__ import annotations

from dataclasses import dataclass

from brittle.commands import COMPARED, Command
from brittle.measures.failure_points.options import FailurePointsOptions
from brittle.registry.options import option

FAMILY = "architecture"


@dataclass(frozen=True)
class LineOptions:
    """The options of the measure `line`."""

    id: str = option(
        "",
        "the image set whose clean accuracy is in-distribution, best of other images than those that are shifted; the "
        "shifted set's own unless given",
        rows=False,
    )
    baseline: tuple[str, ...] = option(
        (), "the classifiers that the line of gains is drawn through; all unless given", rows=False
    )
    covariates: tuple[str, ...] = option(
        (),
        "attributes of classifiers whose partial correlation is given; all that are numbers unless given",
        rows=False,
    )
    family: str = option(FAMILY, "the attribute that names what sizes are of", rows=False)
    confidence: float = option(
        0.95, "confidence of every interval, of gains for all models at once", above=0, below=1, rows=False
    )


COMMAND = Command(
    "line",
    "Set accuracy under shifts against accuracy without, over at least five classifiers.",
    LineOptions,
    COMPARED,
    images=500,
    against="another classifier; may be repeated",
    other_images="id",
    reads={"failure-points": FailurePointsOptions},
    unread=("only", "tolerance", "confidence"),
)
