"""Augmented images, made again: the first pairs of an image set under every augmentation, first draw, not selected."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from brittle.measures.augmentation.augmented import SHARE, augmented, in_pairs, opened
from brittle.report.blocks import Pictures
from brittle.report.blocks.pictures import Card, Original, Pixels, Strip
from brittle.report.page.pictures import data_uri
from brittle.report.page.section import MeasureRun
from brittle.types import Batch

PAIRS = 2
MOST = 8  # augmentations


def pictures(run: MeasureRun, images: str) -> Pictures:
    """Every image of a few pairs, its partner, and what becomes of it."""
    there, strips = run.whole.job.images[images].images, []
    specs = list(dict.fromkeys(row["augmentation"] for row in run.summary["results"]))[:MOST]
    for first in range(0, 2 * min(PAIRS, len(there) // 2), 2):
        groups = there.groups([first, first + 1])
        if len(groups) > 1:
            continue
        for place in range(2):
            one, other = (int(there.ids[first + each]) for each in (place, 1 - place))
            name = there.names[first + place]
            cards = [
                Card(Original(images, one), "image", f"{name}: image"),
                Card(Original(images, other), "partner", f"{name}: partner"),
            ]
            strips.append(Strip((*cards, *_augmented(name, groups[0].batch, place, specs, run.whole.job.seed))))
    return Pictures(tuple(strips))


def _augmented(name: str, batch: Batch, place: int, specs: Sequence[str], seed: int) -> list[Card]:
    one, at = batch.take(torch.tensor([place])), {"draw": torch.tensor([0]), "partner": torch.tensor([1 - place])}
    cards = []
    for spec in specs:
        what = opened(spec)
        made, notes = augmented(what, batch.images, seed).make(one, at)
        caption = f"{spec}, {100 * float(notes[SHARE][0]):.0f} %" if in_pairs(what) else spec
        cards.append(Card(Pixels(data_uri(made[0])), caption, f"{name}: {caption}"))
    return cards
