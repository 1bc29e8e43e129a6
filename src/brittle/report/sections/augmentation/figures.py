"""The figure of augmentations: affinity against diversity, as Gontijo-Lopes et al. 2020 draw it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from brittle.report.blocks import Axis, Figure, Intervals, Mark, Points, Series
from brittle.report.sections.augmentation.words import Line
from brittle.report.sections.marks import chart

MOST = 24


def scatter(lines: Sequence[Line]) -> Figure:
    """A point per augmentation and model; bars are standard deviations over runs."""
    shown = lines[:MOST]
    groups = list(dict.fromkeys(each.group for each in shown))
    return chart(
        "affinity against diversity: "
        + "; ".join(f"{each.augmentation} {each.affinity.told()} and {each.diversity.told()}" for each in shown),
        tuple(mark for each in shown for mark in _marks(each, Series(groups.index(each.group), each.group))),
        Axis("affinity, in points of accuracy", grid=True),
        Axis("diversity: final training loss\nwith the majority’s label", grid=True),
        height=3.8,
    )


def _marks(each: Line, who: Series) -> Iterator[Mark]:
    x, y = each.affinity.mean, each.diversity.mean
    assert x is not None
    assert y is not None
    right, up = each.affinity.spread or 0.0, each.diversity.spread or 0.0
    yield Intervals(who, (y,), (x - right,), (x + right,), "x", "thin")
    yield Intervals(who, (x,), (y - up,), (y + up,), weight="thin")
    yield Points(who, (x,), (y,), texts=(each.augmentation,))
