"""The figure of bubbles: a bar per class, cut into its bubbles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import torch

from brittle.measures.connectedness.search import CURVED
from brittle.measures.connectedness.tables import PICTURES, kept_paths
from brittle.report.blocks import Block, Pictures, Sentence
from brittle.report.blocks.figure import Axis, Bars, Figure, Mark, Role, category_axis
from brittle.report.blocks.pictures import Card, Pixels, Strip
from brittle.report.blocks.text import ClassifierName, Text
from brittle.report.page.pictures import data_uri
from brittle.report.page.section import MeasureRun, Row
from brittle.report.page.words import number
from brittle.report.sections.connectedness.words import sizes
from brittle.report.sections.marks import chart

MOST_FILMS = 12  # of one classifier and image set
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


def films(run: MeasureRun, classifier: str, images: str) -> list[Block]:
    """The paths to show, curved ones first; none where the rows can't be read any more."""
    view = run.view
    if view is None or classifier not in view.classifiers:
        return []
    labels = run.whole.job.facts[classifier].labels
    kept = kept_paths(view.table(view.cell(classifier, images), PICTURES))
    shown = sorted(kept, key=lambda path: path["how"] != CURVED)[:MOST_FILMS]
    return [block for path in shown for block in _film(path, labels[path["label"]])]


def _film(path: dict[str, Any], label: str) -> Iterator[Block]:
    frames = torch.from_numpy(path["frames"])
    cards = []
    for place, (pixels, margin) in enumerate(zip(frames, path["margin"], strict=True)):
        at = f"t = {place / (len(frames) - 1):.2f}"
        on_the_way = f"{label}, on the way from the image {path['image']} to {path['other']}, {at}"
        cards.append(Card(Pixels(data_uri(pixels)), at, on_the_way, beneath=f"margin {number(float(margin), 2)}"))
    how = "a curved path" if path["how"] == CURVED else "the straight segment"
    yield Sentence(f"{label}: {how} from id {path['image']} to id {path['other']}", "note")
    yield Pictures((Strip(tuple(cards)),), "film")
