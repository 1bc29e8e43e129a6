"""The figure of shuffled patches: accuracy by grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from brittle.report.page.colours import Look
from brittle.report.page.figures import WIDTH, svg
from brittle.report.sections.shares import Row, share
from brittle.report.sections.shuffling import words

MOST_SHOWN = 8  # classifiers in a figure


def shuffled_figure(key: str, rows: Sequence[Row], looks: Mapping[str, Look]) -> Markup:
    """Accuracy untouched and under each grid, with intervals."""
    shown = rows[:MOST_SHOWN]
    grids = [words.grid(each["grid"]) for each in shown[0]["shuffled"]]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        step = 0.3 / max(1, len(shown))
        for place, row in enumerate(shown):
            look = looks[row["classifier"]]
            heights = [row["accuracy_clean"], *(each["accuracy"] for each in row["shuffled"])]
            bounds = [row["accuracy_clean_interval"], *(each["accuracy_interval"] for each in row["shuffled"])]
            across = np.arange(len(heights)) - 0.15 + (place + 0.5) * step
            axes.plot(
                across, heights, look.marker, color=look.colour, linestyle=look.dashes, linewidth=1.0, markersize=4
            )
            axes.vlines(across, *zip(*bounds, strict=True), color=look.colour, linewidth=2.2, alpha=0.5)
        axes.set_xticks(range(1 + len(grids)), ["untouched", *grids])
        axes.set_xlim(-0.5, len(grids) + 0.5)
        axes.set_ylim(0, 1)
        axes.set_xlabel("patches that are shuffled")
        axes.set_ylabel("accuracy")
        axes.grid(axis="y")
        axes.set_axisbelow(True)

    told = "; ".join(
        f"{row['classifier']}: {share(row['accuracy_clean'])} untouched, "
        + ", ".join(f"{share(each['accuracy'])} at {words.grid(each['grid'])}" for each in row["shuffled"])
        for row in shown
    )
    return svg(key, (WIDTH, 3.2), f"accuracy on shuffled patches. {told}", draw)
