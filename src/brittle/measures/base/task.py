"""The work of some units: their images, what is known about them, and the tables that come of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.device import sent
from brittle.errors import Failure
from brittle.measures.answers import Answers, At, Change, PendingOutcome
from brittle.measures.base.facts import About, ClassifierFacts
from brittle.measures.outcomes import Outcome, first_bad, joined
from brittle.measures.plan import Columns
from brittle.random import stream_root
from brittle.types import Batch, Classifier, Nuisance

ROWS = "rows"  # the table that every measure has; a unit without it is not done
PRIOR_DRAW = {b"brittle.numbers": b"draws of the prior"}  # metadata of a column

Tables = Mapping[str, pa.Table]  # by name; each has a column `unit`, and is sorted by it
Pending = Callable[[], Tables]  # tables still to be fetched from the device
ReadRows = Mapping[str, Tables]  # by kind of measure: what a measure reads, for the images in question


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


class TaskPairs(NamedTuple):
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
    given: Mapping[str, ReadRows]  # per classifier: the rows that the measure reads, of these images and perhaps others

    @cached_property
    def batch(self) -> Batch:
        """All images, for gradients and layers; none where the measure looks at no image."""
        return self.answers.batch.in_numbers()

    def take(self, rows: Tensor) -> Batch:
        """The images at `rows` (n,), repeats allowed."""
        return self.answers.batch.take(rows).in_numbers()

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
    def pairs(self) -> TaskPairs:
        parts = []
        for unit, rows, axis in self.pieces:
            places = torch.arange(axis.start, axis.stop, axis.step)
            numbers = torch.full((len(rows) * len(places),), unit)
            parts.append((numbers, rows.repeat_interleave(len(places)), places.repeat(len(rows))))
        return TaskPairs(*(torch.cat(each) for each in zip(*parts, strict=True)))

    @cached_property
    def rows(self) -> Tensor:
        """(R,) where the pairs' images stand in the batch, and `axis` (R,) their places on it, both on the device."""
        return sent(self.pairs.rows, self.device)

    @cached_property
    def axis(self) -> Tensor:
        return sent(self.pairs.axis, self.device)

    @property
    def nuisance(self) -> Nuisance:
        """Of measures whose cells name one."""
        assert self.about.nuisance is not None
        return self.about.nuisance

    def root(self, stream: str = "") -> Tensor:
        """The key of a named stream, by default of the nuisance's draws."""
        return stream_root(self.about.seed, stream or self.about.stream, self.device)

    def by_change(
        self, asked: Iterable[tuple[Tensor, At, Change]], right: Mapping[str, Tensor]
    ) -> tuple[Tensor, dict[str, PendingOutcome], dict[str, Tensor]]:
        """What all classifiers of `right` say where pairs are changed in several ways, each of some of them (n,): which
        pairs were asked about, in planned order, and in that order the answers and what is noted of changed images."""
        chosen, said = [], []
        for pairs, at, change in asked:
            chosen.append(pairs)
            said.append(self.answers.all(self.rows[pairs], at, change, right))
        places, order = torch.cat(chosen).sort(stable=True)
        answers: dict[str, PendingOutcome] = {
            name: partial(_reordered, [each.outcomes[name] for each in said], order) for name in right
        }
        noted = {key: torch.cat([each.notes[key] for each in said])[order] for key in said[0].notes}
        return places, answers, noted

    def keys(self, columns: Columns | None = None) -> dict[str, NDArray[Any]]:
        """The first columns of a table with a row per pair: unit, image, and what a plan says of places on its axis."""
        axis = self.pairs.axis.numpy()
        found = {"unit": self.pairs.units.numpy().astype(np.int32), "image": self.ids[self.pairs.rows.numpy()]}
        return found | {name: values[axis].astype(np.int32) for name, values in (columns or {}).items()}

    def fetched(
        self,
        said: Outcome,
        images: NDArray[np.int64] | None = None,
        draws: NDArray[np.int64] | None = None,
        where: Callable[[int], str] = lambda _: "",
    ) -> dict[str, NDArray[Any]]:
        """The columns of what was said, of every pair or of images at these places (n,) in the batch, refused where it
        does not come from a distribution: then `draws` (n,) and `where`, of a row, say more."""
        columns = said.columns()
        if (bad := first_bad(columns)) is not None:
            image = (self.pairs.rows.numpy() if images is None else images)[bad.row]
            draw = None if draws is None else int(draws[bad.row])
            raise BadAnswer(int(image), bad.wrong + where(bad.row), draw=draw)
        return columns


def _reordered(parts: Sequence[PendingOutcome], order: Tensor) -> Outcome:
    found = joined([part() for part in parts])
    return found.take(order.to(found.rank.device))


def tabled(columns: Mapping[str, Any], drawn: str = "") -> Tables:
    """The rows, of arrays and of tensors that are still on a device, whose numbers are stored in 32 bits. `drawn` names
    the column that numbers draws of the prior, where one does: θ is that draw or, along a path, that draw at severity
    1, and whoever reads the rows can draw it again."""
    rows = pa.table(
        {name: _stored(values) if isinstance(values, Tensor) else values for name, values in columns.items()}
    )
    if not drawn:
        return {ROWS: rows}
    place = rows.schema.get_field_index(drawn)
    return {ROWS: rows.cast(rows.schema.set(place, rows.schema.field(place).with_metadata(PRIOR_DRAW)))}


def _stored(values: Tensor) -> NDArray[Any]:
    narrow = torch.float32 if values.is_floating_point() else torch.int32
    return values.cpu().numpy() if values.dtype == torch.bool else values.to(narrow).cpu().numpy()


def draw_column(schema: pa.Schema) -> str | None:
    """The column that numbers draws of the prior, where there is one."""
    return next((field.name for field in schema if (field.metadata or {}).items() >= PRIOR_DRAW.items()), None)


def together(parts: Sequence[pa.Table]) -> pa.Table:
    """Tables one after the other; a column without any value fits what the others have there."""
    return parts[0] if len(parts) == 1 else pa.concat_tables(parts, promote_options="default")


def values_by_id(table: pa.Table, column: str, ids: NDArray[np.int64]) -> NDArray[Any]:
    """The values of a table with one row per image, for these images; an image that is not there is an error."""
    known, values = table["image"].to_numpy(), table[column].to_numpy()
    order = np.argsort(known, kind="stable")
    places = np.searchsorted(known, ids, sorter=order)
    there = places < len(known)
    there[there] = known[order[places[there]]] == ids[there]
    if not there.all():
        raise Failure(
            f"rows of the image with the id {int(ids[~there][0])}, which another measure reads, are not there",
            "Give the same command again: what is missing is computed again.",
        )
    return np.asarray(values[order[places]])
