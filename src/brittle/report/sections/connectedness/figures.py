"""The figure of bubbles: a bar per class, cut into its bubbles."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from brittle.report.page.colours import Look
from brittle.report.page.figures import WIDTH, short, svg
from brittle.report.sections.connectedness.words import Row, sizes

ROW = 0.28  # inches
LABELLED = 0.04  # of the axis: narrower bubbles have no room for their number
WRONG = "#dddddd"
FAINTEST, SOLID = 0.3, 0.85  # opacity of an image alone, and of a bubble with all images


def bubble_figure(key: str, classes: Sequence[Row], look: Look) -> Markup:
    """Bubbles from left to right, the largest first and the darkest, then misclassified images, which have none."""
    most = max((row["images"] for row in classes), default=1)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for place, row in enumerate(classes):
            _bar(axes, place, row, most, look)
        axes.set_yticks(range(len(classes)), [short(row["class"]) for row in classes])
        axes.set_ylim(len(classes) - 0.4, -0.6)
        axes.set_xlim(0, most)
        axes.set_xlabel("images")
        axes.tick_params(axis="y", length=0)
        axes.legend(
            handles=[
                Patch(facecolor=look.colour, alpha=SOLID, label="in one bubble (number of images)"),
                Patch(facecolor=WRONG, edgecolor="#888888", hatch="////", linewidth=0, label="misclassified"),
            ],
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=2,
            frameon=False,
        )

    told = "; ".join(f"{row['class']}: {sizes(row['sizes'])}" for row in classes)
    return svg(key, (WIDTH, ROW * len(classes) + 1.1), f"images in each bubble, class by class: {told}", draw)


def _bar(axes: Axes, place: int, row: Row, most: int, look: Look) -> None:
    left = 0
    for size in row["sizes"]:
        opacity = FAINTEST + (SOLID - FAINTEST) * size / max(1, row["right"])
        axes.barh(place, size, 0.72, left, color=look.colour, alpha=opacity, edgecolor="white", linewidth=1.2)
        if size >= LABELLED * most:
            axes.text(
                left + size / 2,
                place,
                str(size),
                ha="center",
                va="center",
                fontsize=9,
                color="white" if opacity > 0.6 else "#222222",
            )
        left += size
    if row["misclassified"]:
        axes.barh(place, row["misclassified"], 0.72, left, color=WRONG, hatch="////", edgecolor="#888888", linewidth=0)
