"""Figure 5 of UREM: the image, an example of the target, the changed image and the difference per channel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from brittle.images.base import ImageSet
from brittle.measures.perturbation.change_sizes import ChangeSizes
from brittle.measures.perturbation.evaluation import PICTURES
from brittle.report.blocks import Pictures
from brittle.report.blocks.pictures import Card, Original, Pixels, Strip
from brittle.report.page.label_names import LabelNames
from brittle.report.page.pictures import data_uri
from brittle.report.sections.perturbation import words

MOST = 6  # changes of a classifier


def changes(sizes: ChangeSizes, images: ImageSet, names: LabelNames) -> Pictures:
    """The least and the greatest change of some images that are right untouched, the least first."""
    table = sizes.run.table(sizes.cell, PICTURES)
    right = dict(zip(sizes.subject.ids[sizes.places].tolist(), sizes.correct.tolist(), strict=True))
    rows = [row for row in table.to_pylist() if right.get(row["image"])]
    return Pictures(tuple(_strip(sizes, images, names, row) for row in _chosen(rows)))


def _chosen(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Both changes of the first images."""
    images = list(dict.fromkeys(row["image"] for row in rows))[: MOST // 2]
    return [row for row in rows if row["image"] in images][:MOST]


def _strip(sizes: ChangeSizes, images: ImageSet, names: LabelNames, row: dict[str, Any]) -> Strip:
    place = int(sizes.subject.places(np.array([row["image"]]))[0])
    inside = int(np.flatnonzero(sizes.places == place)[0])
    name, label = sizes.subject.names[place], names(int(sizes.origin[sizes.image == inside][0]))
    target = names(row["target"]) if row["target"] >= 0 else "another class"
    original = images.batch([place]).images[0]
    change = torch.from_numpy(np.frombuffer(row["change"], np.float16).astype(np.float32)).view(original.shape)
    greatest = max(float(change.abs().max()), 1e-6)
    stretched = 0.5 + change / (2 * greatest)  # around grey
    times = f"difference × {1 / (2 * greatest):.1f}"
    taken = Card(
        Pixels(data_uri(original + change)),
        f"taken for {target}",
        f"{name} changed, taken for {target}",
        role="wrong",
    )
    return Strip(
        (
            Card(Original(sizes.cell.images, row["image"]), label, f"{name}: original"),
            *_example(sizes, row["target"], target),
            taken,
            *(
                Card(Pixels(data_uri(channel[None])), times, f"difference in channel {number}")
                for number, channel in enumerate(stretched, 1)
            ),
        ),
        (f"{name}: ", words.size(row, "linf"), " (", words.level(row["linf"]), " of 255)"),
    )


def _example(sizes: ChangeSizes, target: int, name: str) -> Iterator[Card]:
    """The first image that has the target's label and was given it, if there is one."""
    labelled = sizes.run.references(sizes.cell.classifier, sizes.cell.images)
    for place in np.flatnonzero(labelled == target)[:1].tolist():
        source = Original(sizes.cell.images, int(sizes.subject.ids[place]))
        yield Card(source, f"target: {name}", f"an example of {name}")
