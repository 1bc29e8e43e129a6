"""Figure 5 of UREM: the image, an example of the target, the changed image and the difference per channel."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from brittle.images.base import ImageSet
from brittle.measures.perturbation.sizes import Sizes
from brittle.measures.perturbation.work import PICTURES
from brittle.report.page.label_names import LabelNames

MOST = 6  # changes of a classifier


class Change(NamedTuple):
    """A changed image; differences are shown around grey, `stretched` times as large."""

    name: str
    label: str
    target: str
    linf: float
    original: Tensor  # (C, H, W)
    example: Tensor | None
    changed: Tensor
    differences: list[Tensor]  # (1, H, W) per channel, in [0, 1]
    stretched: float


def changes(sizes: Sizes, images: ImageSet, names: LabelNames) -> list[Change]:
    """The least and the greatest change of some images that are right untouched, the least first."""
    table = sizes.run.table(sizes.cell, PICTURES)
    right = dict(zip(sizes.subject.ids[sizes.places].tolist(), sizes.correct.tolist(), strict=True))
    rows = [row for row in table.to_pylist() if right.get(row["image"])]
    found = []
    for row in _chosen(rows):
        place = int(sizes.subject.places(np.array([row["image"]]))[0])
        original = images.batch([place]).images[0]
        change = torch.from_numpy(np.frombuffer(row["change"], np.float16).astype(np.float32)).view(original.shape)
        inside = int(np.flatnonzero(sizes.places == place)[0])
        origin = int(sizes.origin[sizes.image == inside][0])
        greatest = max(float(change.abs().max()), 1e-6)
        found.append(
            Change(
                sizes.subject.names[place],
                names(origin),
                names(row["target"]) if row["target"] >= 0 else "another class",
                row["linf"],
                original,
                _example(sizes, images, row["target"]),
                original + change,
                [(0.5 + channel / (2 * greatest))[None] for channel in change],
                1 / (2 * greatest),
            )
        )
    return found


def _chosen(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Both changes of the first images."""
    images = list(dict.fromkeys(row["image"] for row in rows))[: MOST // 2]
    return [row for row in rows if row["image"] in images][:MOST]


def _example(sizes: Sizes, images: ImageSet, target: int) -> Tensor | None:
    """The first image that has the target's label and was given it."""
    labelled = sizes.run.references(sizes.cell.classifier, sizes.cell.images)
    there = np.flatnonzero(labelled == target)
    return images.batch([int(there[0])]).images[0] if len(there) else None
