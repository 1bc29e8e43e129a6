"""How accuracy under a shift is held against accuracy without it."""

from __future__ import annotations

from dataclasses import dataclass

from brittle.registry.options import option


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
    attributes: tuple[str, ...] = option(
        (),
        "attributes of classifiers whose partial correlation is given; all that are numbers unless given",
        rows=False,
    )
    family: str = option("architecture", "the attribute that names what sizes are of", rows=False)
    confidence: float = option(0.95, "of every interval, of gains for all models at once", above=0, below=1, rows=False)
