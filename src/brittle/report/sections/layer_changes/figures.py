"""The figure of targeted changes: how large they are, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.blocks import Axis, Figure, Line, Mark
from brittle.report.page.section import Row
from brittle.report.page.words import percent
from brittle.report.sections.layered import apart, layer_axis
from brittle.report.sections.marks import chart, intervals
from brittle.report.sections.tables import who


def changes_figure(rows: Sequence[Row]) -> Figure:
    """Relative size against layer, one curve per classifier."""
    marks: list[Mark] = []
    for place, row in enumerate(rows):
        layers = zip(apart(rows, place), row["layers"], strict=True)
        known = [(x, each["relative"], each["relative_interval"]) for x, each in layers if each["relative"] is not None]
        at = tuple(x for x, _, _ in known)
        ends = ((low, middle if high is None else high) for _, middle, (low, high) in known)
        marks.append(Line(who(row), at, tuple(middle for _, middle, _ in known), weight="thin", markers=True))
        marks.append(intervals(who(row), at, ends, weight="thick"))
    names = ", ".join(row["classifier"] for row in rows)
    return chart(
        f"size of targeted changes of each layer of {names}, relative to what it gives",
        marks,
        layer_axis(rows[0]["layers"]),
        Axis("change of the layer, relative to its rms", low=0, grid=True),
        f"Points are medians, bars {percent(rows[0]['confidence'])} intervals, each holding on its own.",
        height=3.8,
    )
