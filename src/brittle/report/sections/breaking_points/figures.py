"""The figure of breaking points: which share of paths is still whole at each severity."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.blocks import Axis, Figure, Mark, Points, Rule
from brittle.report.page.section import Row
from brittle.report.page.words import percent
from brittle.report.sections.breaking_points.words import unit
from brittle.report.sections.marks import chart, curve
from brittle.report.sections.tables import who

MOST_CURVES = 8


def survival_figure(rows: Sequence[Row]) -> Figure:
    """A curve per classifier, with an interval for each severity."""
    shown, marks = _spread(rows), list[Mark]([Rule(0.5, "x", dash="dotted")])
    for row in shown:
        survival = row["survival"]
        if survival["share"]:
            ends = zip(survival["low"], survival["high"], strict=True)
            marks += curve(who(row), survival["values"], survival["share"], ends, step="level")
        if row["median"] is not None:
            marks.append(Points(who(row), (row["median"],), (0.5,)))
    some = f" Eight of {len(rows)} classifiers, from the one that breaks last to the one that breaks first."
    return chart(
        f"share of paths of {', '.join(row['classifier'] for row in shown)} that are not broken, against "
        f"{unit(rows[0])}",
        marks,
        Axis(unit(rows[0]), low=0, high=rows[0]["limit"]),
        Axis("share of paths not yet broken", low=0, high=1, grid=True),
        "Share of paths of a classifier’s own correct images that are not broken yet; bands are "
        f"{percent(rows[0]['confidence'])} intervals over images, each for one severity and not for the whole curve, "
        f"marks are medians.{some * (len(rows) > len(shown))}",
        height=3.6,
    )


def _spread(rows: Sequence[Row]) -> Sequence[Row]:
    """As many classifiers as a figure can show, from the one that breaks last to the one that breaks first."""
    if len(rows) <= MOST_CURVES:
        return rows
    order = sorted(rows, key=lambda row: -(row["mean"] or 0.0))
    return [order[place * (len(order) - 1) // (MOST_CURVES - 1)] for place in range(MOST_CURVES)]
