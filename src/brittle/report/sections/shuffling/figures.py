"""The figure of shuffled patches: accuracy by grid."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.blocks import Axis, Figure, Line, Mark, category_axis
from brittle.report.blocks.wording import plain, share
from brittle.report.page.section import Row
from brittle.report.sections.marks import chart, intervals
from brittle.report.sections.shuffling import words
from brittle.report.sections.tables import who

MOST_SHOWN = 8  # classifiers in a figure


def shuffled_figure(rows: Sequence[Row]) -> Figure:
    """Accuracy untouched and under each grid, with intervals."""
    shown = rows[:MOST_SHOWN]
    grids = [words.grid(each["grid"]) for each in shown[0]["shuffled"]]
    step, marks = 0.3 / len(shown), list[Mark]()
    for place, row in enumerate(shown):
        heights = row["accuracy_clean"], *(each["accuracy"] for each in row["shuffled"])
        bounds = row["accuracy_clean_interval"], *(each["accuracy_interval"] for each in row["shuffled"])
        across = tuple(at - 0.15 + (place + 0.5) * step for at in range(len(heights)))
        marks += [Line(who(row), across, heights, weight="thin", markers=True), intervals(who(row), across, bounds)]
    told = "; ".join(
        f"{row['classifier']}: {plain((share(row, 'accuracy_clean', 'none', 1),))} untouched, "
        + ", ".join(
            f"{plain((share(each, 'accuracy', 'none', 1),))} at {words.grid(each['grid'])}" for each in row["shuffled"]
        )
        for row in shown
    )
    axes = (
        category_axis(["untouched", *grids], "patches that are shuffled"),
        Axis("accuracy", None, 0.0, 1.0, grid=True),
    )
    return chart(f"accuracy on shuffled patches. {told}", marks, *axes)
