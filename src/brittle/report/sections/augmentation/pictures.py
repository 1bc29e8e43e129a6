"""Augmented images, made again: the first pairs of an image set under every augmentation, first draw, not selected."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from brittle.measures.augmentation.augmented import SHARE, augmented, in_pairs, opened
from brittle.report.page.pictures import EXACT_UP_TO, data_uri
from brittle.report.page.section import MeasureRun
from brittle.types import Batch

PAIRS = 2
MOST = 8  # augmentations


class Strip(NamedTuple):
    """One image, its partner, and what becomes of it: (caption, picture) each."""

    name: str
    pictures: list[tuple[str, str]]


class Strips(NamedTuple):
    images: str
    strips: list[Strip]
    small: bool
    why_not: str = ""


def strips(run: MeasureRun, images: str) -> Strips:
    chosen = run.whole.chosen(images)
    if chosen is None:
        return Strips(images, [], False, run.whole.why_unreadable(images))
    there, found = chosen.images, []
    specs = list(dict.fromkeys(row["augmentation"] for row in run.summary["results"]))[:MOST]
    small = max(there.shape[1:]) <= EXACT_UP_TO
    for pair in range(min(PAIRS, len(there) // 2)):
        groups = there.groups([2 * pair, 2 * pair + 1])
        if len(groups) > 1:
            continue
        batch = groups[0].batch
        for place in range(2):
            found.append(_strip(there.names[2 * pair + place], batch, place, specs, run.whole.job.seed))
    return Strips(images, found, small)


def _strip(name: str, batch: Batch, place: int, specs: list[str], seed: int) -> Strip:
    one, at = batch.take(torch.tensor([place])), {"draw": torch.tensor([0]), "partner": torch.tensor([1 - place])}
    shown: list[tuple[str, Any]] = [("image", one.images[0]), ("partner", batch.images[1 - place])]
    for spec in specs:
        what = opened(spec)
        made, notes = augmented(what, batch.images, seed).make(one, at)
        share = f", {100 * float(notes[SHARE][0]):.0f} %" if in_pairs(what) else ""
        shown.append((f"{spec}{share}", made[0]))
    return Strip(name, [(caption, data_uri(image)) for caption, image in shown])
