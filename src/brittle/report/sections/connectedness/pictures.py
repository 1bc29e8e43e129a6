"""Film strips: the images on a connecting path, as they were kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from brittle.measures.connectedness.search import CURVED
from brittle.measures.connectedness.tables import PICTURES, kept_paths
from brittle.report.blocks import Block, Card, Pictures, Pixels, Sentence, Strip
from brittle.report.page.pictures import data_uri
from brittle.report.page.section import MeasureRun
from brittle.report.page.words import number

MOST_FILMS = 12  # of one classifier and image set


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
