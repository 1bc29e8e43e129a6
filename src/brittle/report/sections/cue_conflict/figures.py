"""The figure of cue conflict: shape bias by class (Geirhos et al. 2019, figure 4)."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.blocks import Axis, Figure, Mark, Role, Rule, category_axis
from brittle.report.blocks.wording import plain, share
from brittle.report.page.section import Row
from brittle.report.sections.marks import chart, whiskers
from brittle.report.sections.tables import who

MOST_SHOWN = 8  # classifiers in a figure
TICKS = ((0.0, "0\ntexture"), (0.25, "0.25"), (0.5, "0.5"), (0.75, "0.75"), (1.0, "1\nshape"))


def bias_figure(rows: Sequence[Row], also: Sequence[Row]) -> Figure:
    """A line per class, a mark per classifier with its interval, and its overall shape bias as an upright line."""
    shown = rows[:MOST_SHOWN]
    names = [each["class"] for each in shown[0]["per_class"]]
    step = 0.7 / len(shown)
    marks: list[Mark] = [
        Rule(each["shape_bias"], of=Role("prior"), dash="dotted") for each in also if each["shape_bias"] is not None
    ]
    for place, row in enumerate(shown):
        own = row["per_class"]
        at = [line - 0.35 + (place + 0.5) * step for line in range(len(own))]
        biases, ends = ([each[key] for each in own] for key in ("shape_bias", "shape_bias_interval"))
        marks += whiskers(who(row), at, biases, ends, "x")
        if row["shape_bias"] is not None:
            marks.append(Rule(row["shape_bias"], of=who(row), dash="own"))
    told = ", ".join(f"{row['classifier']} {plain((share(row, 'shape_bias', 'none', 1),))}" for row in shown)
    given = ", dotted grey ones that of those whose decisions were given" if also else ""
    some = f" The first {MOST_SHOWN} of {len(rows)} classifiers." if len(rows) > MOST_SHOWN else ""
    return chart(
        f"shape bias by class; overall {told}",
        marks,
        Axis("shape bias: answers by shape / (by shape + by texture)", TICKS, 0.0, 1.0),
        category_axis(names, "shape of the stimulus", falling=True),
        f"Shape bias by the shape of the stimulus; upright lines are the classifiers’ overall shape bias{given}. A "
        f"class has few shape images: its interval is rough.{some}",
        height=1.2 + 0.36 * len(names),
    )
