"""A worker: computes a span of units for a group of cells. What it gives depends on the job, the span and what is given
to it, and on nothing else, so that any worker anywhere gives the same rows.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import torch

from brittle.device import sent
from brittle.engine.check.before_work import check_nuisance
from brittle.engine.check.foreign_code import attribute_errors, bad_pixels
from brittle.engine.execute.batch_extras import with_extras
from brittle.engine.job import Job
from brittle.engine.plan.missing import IMAGES_KEPT, CellGroup, image_range
from brittle.engine.replay import replay_of
from brittle.engine.store.unit_store import TABLE_NAME
from brittle.engine.uploads import Uploads, taken
from brittle.errors import BrittleError, Failure
from brittle.images.base import ImageSet, ShapeGroup, shape_of
from brittle.measures.answers import Answers
from brittle.measures.base import ROWS, BadAnswer, Cell, Pending, Piece, ReadRows, Tables, Task, together
from brittle.measures.graphs import Graphs
from brittle.measures.plan import Span, Unit
from brittle.memory import halving, slices
from brittle.types import Batch

IMAGES_AT_ONCE = 1 << 30  # bytes of a span's images that are on the device together


class ComputedPart(NamedTuple):
    """Images of one shape among those of a span, and what was computed of them per classifier."""

    span: Span
    batch: Batch
    places: Sequence[int]  # (B,) in planned order
    pending: Mapping[str, Pending]


class ImageBlock(NamedTuple):
    """Images that are on the device together, and the units that they are for."""

    places: range | tuple[int, ...]  # in planned order
    units: Mapping[int, Sequence[Unit]]  # by number: a unit, or the parts of it that are wanted


class Worker:
    """Holds what lives as long as a job: images on the device, a thread that reads the next ones, the batch size."""

    def __init__(self, job: Job, note: Callable[[str], None] = lambda _: None) -> None:
        self.job, self.note = job, note
        self.batch_sizes = {name: job.batch_size(name) for name in (*job.images, "")}
        self.graphs = Graphs(job.graphs)
        self._kept: OrderedDict[tuple[str, range | tuple[int, ...]], Future[list[ShapeGroup]]] = OrderedDict()
        self._reader, self._reading = ThreadPoolExecutor(1), threading.Lock()
        self._uploads = Uploads(job.device) if job.device.type == "cuda" else None

    def close(self) -> None:
        self._reader.shutdown(cancel_futures=True)

    def compute(
        self,
        group: CellGroup,
        span: Span,
        given: Mapping[str, ReadRows],
        tick: Callable[[int], None] = lambda _: None,
        following: tuple[str, Sequence[Unit]] = ("", ()),
        wanted: Mapping[int, Sequence[Unit]] | None = None,
    ) -> list[ComputedPart]:
        """Everything of some units, or the parts of them that are `wanted`, left on the device. The images of
        the `following` units of an image set are read meanwhile."""
        units = wanted if wanted is not None else _by_number(group.plan[span.first : span.end], span.first)
        every = ((number, unit) for number, parts in units.items() for unit in parts)
        bare = [Piece(number, torch.zeros(0).long(), unit.axis) for number, unit in every if not len(unit.images)]
        found = [self._evaluate(group, span, self._no_images(), [], bare, given, tick)] if bare else []
        blocks = self._blocks(group.images, units) if group.images else []
        for number, block in enumerate(blocks):
            with attribute_errors({}, f"the image set {group.images!r}"):
                groups = self._read(group.images, block.places).result()
            if number + 1 < len(blocks):
                self._read(group.images, blocks[number + 1].places)
            else:
                self.prefetch(*following)
            for inside, batch in groups:
                places = [block.places[place] for place in inside.tolist()]
                self._check_late(group, batch, places[0])
                pieces = _pieces(block.units, places)
                if pieces:
                    found.append(self._evaluate(group, span, taken(batch), places, pieces, given, tick))
        return found

    def _no_images(self) -> Batch:
        none = torch.zeros(0, dtype=torch.int64, device=self.job.device)
        return Batch(torch.zeros(0, 1, 1, 1, device=self.job.device), none, none)

    def prefetch(self, images: str, units: Sequence[Unit]) -> None:
        """Has the other thread read the images of some units, the first of them where they are many."""
        for block in self._blocks(images, _by_number(units))[:1] if images and units else ():
            self._read(images, block.places)

    def _blocks(self, images: str, units: Mapping[int, Sequence[Unit]]) -> list[ImageBlock]:
        """The images of some units, as many as fit on the device at a time."""
        at_once = max(1, IMAGES_AT_ONCE // (4 * math.prod(self.job.images[images].images.shape)))
        every = [unit for parts in units.values() for unit in parts]
        if any(isinstance(unit.images, tuple) for unit in every):
            return _whole_units(units, at_once)
        first, end = image_range(every)
        return [
            ImageBlock(range(first + part.start, first + part.stop), units) for part in slices(end - first, at_once)
        ]

    def collect(self, cell: Cell, parts: Sequence[ComputedPart], classifier: str) -> Tables:
        """Fetches one classifier's tables, refuses what is not a distribution, and puts rows in planned order."""
        tables: dict[str, list[pa.Table]] = {ROWS: []}
        for part in parts:
            if classifier not in part.pending:
                raise _bad_tables(cell, f"gives nothing of the classifier {classifier!r}")
            try:
                fetched = part.pending[classifier]()
            except BadAnswer as bad:
                raise self._bad_answer(cell, part.places[bad.image], bad) from None
            for name, table in fetched.items():
                _check_table(cell, name, table, part.span)
                tables.setdefault(name, []).append(table)
        if parts and not tables[ROWS]:
            raise _bad_tables(cell, f"gives no table {ROWS!r}")
        return {name: self._in_order(cell, each) for name, each in tables.items() if each}

    def _in_order(self, cell: Cell, parts: Sequence[pa.Table]) -> pa.Table:
        """Rows of several shapes: by unit, then by the image's place, then as the measure gave them."""
        table = together(parts)
        if len(parts) == 1:
            return table
        keys = [table["unit"].to_numpy()]
        if "image" in table.column_names:
            keys.insert(0, self.job.subject(cell.images).places(table["image"].to_numpy()))
        return table.take(pa.array(np.lexsort(keys)))

    def _evaluate(
        self,
        group: CellGroup,
        span: Span,
        batch: Batch,
        places: Sequence[int],
        pieces: Sequence[Piece],
        given: Mapping[str, ReadRows],
        tick: Callable[[int], None],
    ) -> ComputedPart:
        job, images = self.job, group.images
        names = [name for name in group.cells if name]
        labels, ids = {}, np.zeros(0, np.int64)
        if images:
            ids = job.subject(images).ids[places]
            labels = {
                name: sent(torch.from_numpy(job.references(name, images)[places]), batch.images.device)
                for name in names
            }

        def evaluate(size: int) -> Mapping[str, Pending]:
            full = batch
            if names and job.needs(group.nuisance):
                full = with_extras(job, batch.in_numbers(), labels[names[0]], group.nuisance, names[0])
            answers = Answers(full, {name: job.classifiers[name] for name in names}, size, tick, self.graphs)
            facts = {name: job.facts[name] for name in names}
            task = Task(answers, ids, pieces, job.about(group.any_cell), labels, facts, given)
            return group.assignment.measure.evaluate(task)

        with attribute_errors(self._foreign_objects(group), f"the measure {group.assignment.name!r}"):
            pending, self.batch_sizes[images] = halving(evaluate, self.batch_sizes[images], self.note)
        return ComputedPart(span, batch, places, pending)

    def _foreign_objects(self, group: CellGroup) -> dict[str, object]:
        """What a measure calls, by what it is called in an error."""
        found: dict[str, object] = {f"classifier {name!r}": self.job.classifiers[name] for name in group.cells if name}
        nuisance = {f"the nuisance {group.nuisance!r}": self.job.nuisances[group.nuisance]} if group.nuisance else {}
        return found | nuisance

    def _check_late(self, group: CellGroup, batch: Batch, place: int) -> None:
        """A shape that none of the images looked at beforehand had is checked when it turns up."""
        shape, there = shape_of(batch.images), self.job.images[group.images].images
        if group.nuisance and shape not in there.shapes:
            check_nuisance(group.nuisance, self.job.nuisances[group.nuisance], shape, there.names[place])

    def _read(self, images: str, places: range | tuple[int, ...]) -> Future[list[ShapeGroup]]:
        """Images of a set on the device, read by the other thread and kept while there is room."""
        key, there = (images, places), self.job.images[images].images
        with self._reading:
            kept = self._kept.get(key)
            if kept is None or (kept.done() and kept.exception() is not None):
                self._kept[key] = self._reader.submit(self._on_device, there, places)
            self._kept.move_to_end(key)
            while len(self._kept) > 2 and sum(map(self._bytes, self._kept)) > IMAGES_KEPT:
                self._kept.popitem(last=False)
            return self._kept[key]

    def _on_device(self, images: ImageSet, places: range | tuple[int, ...]) -> list[ShapeGroup]:
        if self._uploads is not None:
            return self._uploads(images.groups(places, stored=True))
        # On a CPU they become numbers once: a division for every draw costs more than memory does.
        return images.groups(places, self.job.device, stored=self.job.device.type != "cpu")

    def _bytes(self, key: tuple[str, range | tuple[int, ...]]) -> int:
        images, places = key
        return 4 * len(places) * math.prod(self.job.images[images].images.shape)

    def _bad_answer(self, cell: Cell, place: int, bad: BadAnswer) -> Failure:
        """The error for an answer that is not a distribution: which classifier, image, draw and θ."""
        there = self.job.images[cell.images].images
        where = f"{there.names[place]} (id {int(there.ids[place])})"
        if cell.nuisance:
            nuisance, theta = self.job.nuisances[cell.nuisance], bad.theta
            replay = replay_of(self.job, cell.images, cell.nuisance, cell.classifier, self.job.device)
            if theta is None and bad.draw is not None:
                theta = replay.theta(place, bad.draw)
                where += f", draw {bad.draw}"
            if theta is not None:
                where += f", θ = {_theta_text(nuisance.parameters, theta.tolist())}"
                made = replay.at(place, theta[None])[0]
                if not bool(made.isfinite().all()):
                    return bad_pixels(cell.nuisance, where, made)
        return Failure(
            f"classifier {cell.classifier!r} gave {bad.wrong} for the image {where}",
            "Check its weights and its preprocessing (mean, std, range) on that image; finished units are kept.",
        )


def _by_number(units: Sequence[Unit], first: int = 0) -> dict[int, list[Unit]]:
    return {number: [unit] for number, unit in enumerate(units, first)}


def _whole_units(units: Mapping[int, Sequence[Unit]], at_once: int) -> list[ImageBlock]:
    """Blocks of whole units, since images that are scattered over a set are in one unit because they belong together:
    as many as fit, and at least one."""
    blocks: list[ImageBlock] = []
    for number, parts in units.items():
        last = blocks[-1] if blocks else ImageBlock((), {})
        own = {image for unit in parts for image in unit.images}
        both = tuple(sorted({*last.places, *own}))
        if blocks and len(both) <= at_once:
            blocks[-1] = ImageBlock(both, {**last.units, number: parts})
        elif own:
            blocks.append(ImageBlock(tuple(sorted(own)), {number: parts}))
    return blocks


def _check_table(cell: Cell, name: str, table: pa.Table, span: Span) -> None:
    """Refuses a table that could not be told apart by units when it is read again."""
    if not TABLE_NAME.fullmatch(name):
        raise _bad_tables(
            cell, f"gives a table {name!r}, whose name is not of lower-case letters, digits and underscores"
        )
    if table.column_names[:1] != ["unit"]:
        raise _bad_tables(cell, f"gives a table {name!r} whose first column is not 'unit'")
    units = table["unit"].to_numpy()
    if len(units) and not (span.first <= units[0] and units[-1] < span.end and (np.diff(units) >= 0).all()):
        raise _bad_tables(
            cell, f"gives a table {name!r} that is not sorted by unit, or of units that it was not asked for"
        )


def _bad_tables(cell: Cell, what: str) -> BrittleError:
    return BrittleError(f"the measure {cell.measure!r} {what}", "Fix its `evaluate`.")


def _pieces(units: Mapping[int, Sequence[Unit]], places: Sequence[int]) -> list[Piece]:
    """Of some units, what concerns the images at `places` in planned order, which rise."""
    here, found = np.asarray(places), []
    for number, unit in ((number, unit) for number, parts in units.items() for unit in parts):
        wanted = np.asarray(unit.images)
        rows = np.searchsorted(here, wanted)
        there = rows < len(here)
        there[there] = here[rows[there]] == wanted[there]
        if there.any():
            found.append(Piece(number, torch.from_numpy(rows[there]), unit.axis))
    return found


def _theta_text(names: Sequence[str], theta: Sequence[float]) -> str:
    """(a11 1.02, a21 0.1, …); a field over the pixels is only counted, its draw number says which it is."""
    if len(names) != len(theta):
        return f"{len(theta)} numbers"
    return "(" + ", ".join(f"{name} {value:.4g}" for name, value in zip(names, theta, strict=True)) + ")"
