"""The work of some units: their images, what is known about them, and the tables that come of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.errors import Failure
from brittle.measures.answers import Answers
from brittle.measures.base.facts import About, ClassifierFacts
from brittle.types import Batch, Classifier

ROWS = "rows"  # the table that every measure has; a unit without it is not done
PRIOR_DRAW = {b"brittle.numbers": b"draws of the prior"}  # metadata of a column

Tables = Mapping[str, pa.Table]  # by name; each has a column `unit`, and is sorted by it
Pending = Callable[[], Tables]  # tables still to be fetched from the device
Given = Mapping[str, Tables]  # by kind of measure: what a measure reads, for the images in question


class BadAnswer(Exception):
    """A classifier's answer that is not a probability distribution: which image of the batch, which draw or θ."""

    def __init__(self, image: int, wrong: str, *, draw: int | None = None, theta: Tensor | None = None) -> None:
        super().__init__(wrong)
        self.image, self.wrong, self.draw, self.theta = image, wrong, draw, theta


class Piece(NamedTuple):
    """What is wanted of one unit: images of the batch × a range of the measure's axis."""

    unit: int  # its place in the plan
    rows: Tensor  # (n,) places in the batch, in planned order
    axis: range


class Pairs(NamedTuple):
    """Every image of some pieces with every place on the axis, image by image."""

    units: Tensor  # (R,)
    rows: Tensor  # (R,) places in the batch
    axis: Tensor  # (R,)


@dataclass(frozen=True)
class Task:
    """Some units' images, all of one shape, and what there is to know about them."""

    answers: Answers  # of the task's classifiers about its B images
    ids: NDArray[np.int64]  # (B,) those of the images, at hand without waiting for the device
    pieces: Sequence[Piece]
    about: About  # of the first classifier; all plans of a task are equal
    labels: Mapping[str, Tensor]  # (B,) per classifier, as it counts its classes; −1 where an image has no label
    facts: Mapping[str, ClassifierFacts]  # of each classifier
    given: Mapping[str, Given]  # per classifier: the rows that the measure reads, of these images and perhaps others

    @cached_property
    def batch(self) -> Batch:
        """The images, for what `answers` can't do; none where the measure looks at no image."""
        return self.answers.batch.in_numbers()

    @property
    def device(self) -> torch.device:
        return self.answers.batch.images.device

    @property
    def classifiers(self) -> Mapping[str, Classifier]:
        """For gradients and layers; `answers` asks them."""
        return self.answers.classifiers

    @property
    def batch_size(self) -> int:
        return self.answers.size

    @property
    def tick(self) -> Callable[[int], None]:
        """To be told of classifier calls that `answers` does not make."""
        return self.answers.tick

    @cached_property
    def pairs(self) -> Pairs:
        parts = []
        for unit, rows, axis in self.pieces:
            places = torch.arange(axis.start, axis.stop, axis.step)
            numbers = torch.full((len(rows) * len(places),), unit)
            parts.append((numbers, rows.repeat_interleave(len(places)), places.repeat(len(rows))))
        return Pairs(*(torch.cat(each) for each in zip(*parts, strict=True)))

    def keys(self, axis: str = "") -> dict[str, NDArray[Any]]:
        """The first columns of a table with a row per pair: unit, image and, by the name given, the place on the
        axis."""
        pairs = self.pairs
        found = {"unit": pairs.units.numpy().astype(np.int32), "image": self.ids[pairs.rows.numpy()]}
        return found | ({axis: pairs.axis.numpy().astype(np.int32)} if axis else {})


def numbering_draws(rows: pa.Table, column: str) -> pa.Table:
    """The same rows, where the column says that it numbers draws of the prior: θ is that draw or, along a path, that
    draw at severity 1. Whoever reads the rows can then draw θ again."""
    place = rows.schema.get_field_index(column)
    return rows.cast(rows.schema.set(place, rows.schema.field(place).with_metadata(PRIOR_DRAW)))


def draw_column(schema: pa.Schema) -> str | None:
    """The column that numbers draws of the prior, where there is one."""
    return next((field.name for field in schema if (field.metadata or {}).items() >= PRIOR_DRAW.items()), None)


def looked_up(table: pa.Table, column: str, ids: NDArray[np.int64]) -> NDArray[Any]:
    """The values of a table with one row per image, for these images; an image that is not there is an error."""
    known, values = table["image"].to_numpy(), table[column].to_numpy()
    order = np.argsort(known, kind="stable")
    places = np.searchsorted(known, ids, sorter=order)
    there = places < len(known)
    there[there] = known[order[places[there]]] == ids[there]
    if not there.all():
        raise Failure(
            f"rows of the image with the id {int(ids[~there][0])}, which another measure reads, are not there",
            "Give the same command again: what is missing is computed anew.",
        )
    return np.asarray(values[order[places]])
