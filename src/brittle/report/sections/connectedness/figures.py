"""The figure of bubbles: a bar per class, cut into its bubbles."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from brittle.report.blocks import Axis, Bars, ClassifierName, Figure, Mark, Role, Text, category_axis
from brittle.report.page.section import Row
from brittle.report.sections.connectedness.words import sizes
from brittle.report.sections.marks import chart

ROW = 0.28  # inches
LABELLED = 0.04  # of the axis: narrower bubbles have no room for their number
FAINTEST, SOLID = 0.3, 0.85  # opacity of an image alone, and of a bubble with all images


def bubble_figure(classes: Sequence[Row], reading: Text) -> Figure:
    """Bubbles from left to right, the largest first and the darkest, then misclassified images, which have none."""
    most = max((row["images"] for row in classes), default=1)
    wrong = [(place, row) for place, row in enumerate(classes) if row["misclassified"]]
    marks: list[Mark] = [_bubbles(place, row, most) for place, row in enumerate(classes) if row["sizes"]]
    if wrong:
        marks.append(
            Bars(
                Role("wrong", "misclassified"),
                tuple(place for place, _ in wrong),
                tuple(row["misclassified"] for _, row in wrong),
                tuple(row["right"] for _, row in wrong),
                width=0.72,
                along="x",
                hatched=True,
            )
        )
    told = "; ".join(f"{row['class']}: {sizes(row['sizes'])}" for row in classes)
    return chart(
        f"images in each bubble, class by class: {told}",
        marks,
        Axis("images", low=0, high=most),
        category_axis([row["class"] for row in classes], falling=True),
        reading,
        height=ROW * len(classes) + 0.8,
    )


def _bubbles(place: int, row: Row, most: int) -> Bars:
    found = row["sizes"]
    return Bars(
        ClassifierName(row["classifier"], "in one bubble (images)"),
        (place,) * len(found),
        tuple(found),
        (0, *accumulate(found[:-1])),
        width=0.72,
        along="x",
        texts=tuple(str(size) if size >= LABELLED * most else "" for size in found),
        texts_on=True,
        faint=tuple(FAINTEST + (SOLID - FAINTEST) * size / max(1, row["right"]) for size in found),
    )
