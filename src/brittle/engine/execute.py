"""The local executor: carries out what is missing of a job, span by span, and loses nothing that is finished.

A span is a few neighbouring units whose pairs of image and draw fill batches of one size. T_θ x is computed once
and every classifier that lacks the span sees it. The device is not waited for: a thread fetches, checks and stores
the rows of one span while the next is computed, and another reads the images of the span to come.
"""

from __future__ import annotations

import itertools
import math
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.engine.job import CLEAN, Job, check_nuisance, reference_labels
from brittle.engine.store import Cell, FolderStore, Store, gaps
from brittle.errors import Failure
from brittle.images.base import ShapeGroup, shape_of
from brittle.measures.base import BadAnswer, Pending, Stopper, Task
from brittle.measures.evaluate import COLUMNS, Pairs, all_pairs, draw_theta, evaluate_clean, slices
from brittle.measures.plan import Span, Unit
from brittle.measures.robustness.measure import Robustness
from brittle.measures.rows import to_table
from brittle.memory import halving, keep_mapped
from brittle.progress import Progress
from brittle.random import stream_root
from brittle.types import Batch

T = TypeVar("T")
Evaluate = Callable[["Part", int], dict[str, Pending]]

BATCHES_PER_SPAN = 4
IMAGES_KEPT = 1 << 30  # bytes of images kept on the device between spans
IMAGES_AT_ONCE = 1 << 30  # bytes of a span's images that are on the device together
KNOWN_KEPT = 1 << 30  # bytes of a measurement's outcomes that another measure may look up
IN_FLIGHT = 2  # spans computed but not yet stored


def carry_out(job: Job, store: Store, progress: Progress) -> None:
    """Computes every unit that the store lacks and the measures still ask for."""
    if job.device.type == "cpu":
        keep_mapped()
    if isinstance(store, FolderStore):
        _remove_torn(job, store, progress)
    cells = list(itertools.product(job.measures, job.images, job.nuisances))
    progress.start(
        sum(job.measures[cell[0]].calls(unit) for cell in cells for unit in job.units(*cell)) * len(job.classifiers)
    )
    for images in job.images:
        with _Executor(job, store, images, progress) as executor:
            for measure, nuisance in itertools.product(job.measures, job.nuisances):
                executor.carry_out(measure, nuisance)


def _remove_torn(job: Job, store: FolderStore, progress: Progress) -> None:
    cells = [(CLEAN, images, CLEAN) for images in job.images]
    for measure, images, nuisance in (*cells, *itertools.product(job.measures, job.images, job.nuisances)):
        units = job.units(measure, images, nuisance)
        for classifier in job.classifiers:
            torn = store.verify(
                Cell(measure, classifier, images, nuisance),
                lambda span, units=units: sum(unit.rows for unit in units[span.first : span.end]),  # type: ignore[misc]
            )
            for path in torn:
                progress.note(f"{path} was torn or incomplete; its units are computed anew")


class Part(NamedTuple):
    """Images of one shape among those of a span, and the rows that are theirs."""

    batch: Batch
    places: Tensor  # (B,) which images of the span they are
    pairs: Pairs  # their rows, with images counted within the batch
    rows: Tensor | None  # which rows of the span those are; None where they are all


class _Executor:
    """One image set. Holds what lives as long as its spans: images on the device, clean predictions, two threads."""

    def __init__(self, job: Job, store: Store, images: str, progress: Progress) -> None:
        self.job, self.store, self.name, self.progress = job, store, images, progress
        self.set = job.images[images].images
        self.batch_size = job.batch_size(images)
        self.images_at_once = max(1, IMAGES_AT_ONCE // (4 * math.prod(self.set.shape)))
        self.references = {
            name: reference_labels(classifier, name, self.set) for name, classifier in job.classifiers.items()
        }
        self.clean = {name: np.full(len(self.set), -1, dtype=np.int64) for name in job.classifiers}
        self.clean_done: dict[str, list[Span]] = {}
        self.kept: OrderedDict[tuple[int, int], Future[list[ShapeGroup]]] = OrderedDict()
        self.reader, self.writer = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self.writing: deque[Future[pa.Table]] = deque()

    def __enter__(self) -> _Executor:
        units = self.job.units(CLEAN, self.name, CLEAN)
        for name, predictions in self.clean.items():
            cell = Cell(CLEAN, name, self.name, CLEAN)
            self.clean_done[name] = self.store.done(cell)
            for span, rows in self.store.read(cell):
                predictions[units[span.first].first_image : units[span.end - 1].end_image] = rows[
                    "predicted"
                ].to_numpy()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.reader.shutdown(cancel_futures=True)
        self.writer.shutdown()
        while self.writing and kind is None:  # the first thing that went wrong is the one to tell
            self.writing.popleft().result()

    def carry_out(self, measure: str, nuisance: str) -> None:
        """All spans of one measure under one nuisance, in planned order, until every classifier has finished."""
        units = self.job.units(measure, self.name, nuisance)
        calls = self.job.measures[measure].calls
        self.progress.at(" · ".join((self.name, nuisance, *([measure] if len(self.job.measures) > 1 else []))))
        spans = self._spans(units)
        done = {name: self.store.done(Cell(measure, name, self.name, nuisance)) for name in self.job.classifiers}
        stoppers = self._stoppers(measure, nuisance, units)
        known = self._measured(nuisance) if measure != "robustness" else {}
        for place, span in enumerate(spans):
            missing: dict[Span, list[str]] = {}
            planned = sum(map(calls, units[span.first : span.end])) * len(done)
            ticked = 0

            def tick(count: int, most: int = planned) -> None:
                nonlocal ticked
                more = min(count, most - ticked)
                ticked += more
                self.progress.advance(more)

            for name, have in done.items():
                if not (name in stoppers and stoppers[name].finished):
                    for gap in gaps(have, span):
                        missing.setdefault(gap, []).append(name)
            for gap, names in missing.items():
                following = spans[place + 1] if place + 1 < len(spans) else None
                self._compute(measure, nuisance, units, gap, names, stoppers, known, tick, following)
            finished = len(stoppers) == len(done) and all(each.finished for each in stoppers.values())
            if finished:
                planned = sum(map(calls, units[span.first :])) * len(done)
            self.progress.advance(planned - ticked)
            if finished:
                return

    def _spans(self, units: Sequence[Unit]) -> list[Span]:
        rows = max(unit.rows for unit in units)
        together = max(1, math.ceil(BATCHES_PER_SPAN * self.batch_size / rows))
        # A span over several rounds holds the whole set: a large one is left to end with its round.
        turns = [
            place for place, unit in enumerate(units) if place == 0 or unit.first_image < units[place - 1].first_image
        ]
        if len(self.set) * 4 * math.prod(self.set.shape) <= IMAGES_KEPT:
            turns = [0]
        return [
            Span(at, min(at + together, end))
            for begin, end in itertools.pairwise([*turns, len(units)])
            for at in range(begin, end, together)
        ]

    def _stoppers(self, measure: str, nuisance: str, units: Sequence[Unit]) -> dict[str, Stopper]:
        """Where a measure may stop early, each classifier's way so far: read back from the store when resumed."""
        population = len(self.job.images[self.name].whole)
        stoppers = {}
        for name in self.job.classifiers:
            stopper = self.job.measures[measure].watch(units, len(self.set), population, self.clean[name])
            if stopper is not None:
                for span, rows in self.store.read(Cell(measure, name, self.name, nuisance)):
                    stopper.feed(span, rows)
                stoppers[name] = stopper
        return stoppers

    def _measured(self, nuisance: str) -> dict[str, NDArray[np.float32]]:
        """Outcomes (M, m, 5) of every image's first m draws of the prior, for classifiers whose robustness is known.

        A measurement that may stop early is left alone: how far it went past its stop is an accident."""
        measure = self.job.measures.get("robustness")
        if not isinstance(measure, Robustness) or measure.tolerance is not None:
            return {}
        count, draws = len(self.set), measure.draws
        if 4 * len(COLUMNS) * count * draws > KNOWN_KEPT:
            return {}
        while self.writing:
            self.writing.popleft().result()
        order = self.set.ids.numpy().argsort(kind="stable")
        ordered = self.set.ids.numpy()[order]
        found = {}
        for name in self.job.classifiers:
            values = np.full((count, draws, len(COLUMNS)), np.nan, np.float32)
            for _, rows in self.store.read(Cell("robustness", name, self.name, nuisance)):
                places = order[np.searchsorted(ordered, rows["image"].to_numpy())]
                for column, word in enumerate(COLUMNS):
                    values[places, rows["draw"].to_numpy(), column] = rows[word].to_numpy()
            if not np.isnan(values).any():
                found[name] = values
        return found

    def _compute(
        self,
        measure: str,
        nuisance: str,
        units: Sequence[Unit],
        span: Span,
        names: list[str],
        stoppers: Mapping[str, Stopper],
        known: Mapping[str, NDArray[np.float32]],
        tick: Callable[[int], None],
        following: Span | None,
    ) -> None:
        first, end = _image_range(units[span.first : span.end])
        self._ensure_clean(first, end, names)
        references = {
            name: self._on_device(np.where(labels < 0, self.clean[name][first:end], labels))
            for name in names
            for labels in (self.references[name][first:end].numpy(),)
        }
        before = {name: self._on_device(known[name][first:end]) for name in names if name in known}
        job = self.job

        def evaluate(part: Part, size: int) -> dict[str, Pending]:
            places = part.places.to(job.device)
            return job.measures[measure].evaluate(
                Task(
                    part.batch,
                    part.pairs,
                    job.nuisances[nuisance],
                    job.streams[nuisance],
                    job.seed,
                    {name: job.classifiers[name] for name in names},
                    {name: labels[places] for name, labels in references.items()},
                    size,
                    {name: values[places] for name, values in before.items()},
                    tick,
                )
            )

        pairs = _pairs(units[span.first : span.end], first)
        after = None if following is None else _image_range(units[following.first : following.end])
        found = self._by_shape(nuisance, first, end, pairs, evaluate, after)
        for name in names:
            stopper, cell = stoppers.get(name), Cell(measure, name, self.name, nuisance)
            stored = self.writer.submit(self._store, cell, span, first, [(p, each[name]) for p, each in found], stopper)
            self.writing.append(stored)
            if stopper is not None:
                stored.result()
        while len(self.writing) > IN_FLIGHT * max(1, len(names)):
            self.writing.popleft().result()

    def _store(
        self,
        cell: Cell,
        span: Span,
        first: int,
        found: Sequence[tuple[Part, Pending]],
        stopper: Stopper | None = None,
    ) -> pa.Table:
        """Fetches one classifier's rows, refuses what is no distribution, and stores the rest in planned order."""
        tables = []
        for part, pending in found:
            try:
                tables.append(pending())
            except BadAnswer as bad:
                raise self._refusal(cell, first + int(part.places[bad.image]), bad) from None
        table = tables[0]
        if len(tables) > 1:
            rows = torch.cat([part.rows for part, _ in found if part.rows is not None])
            table = pa.concat_tables(tables).take(pa.array(rows.argsort().numpy()))
        self.store.write(cell, span, table)
        if stopper is not None:
            stopper.feed(span, table)
        return table

    def _refusal(self, cell: Cell, place: int, bad: BadAnswer) -> Failure:
        """The error for an answer that is no distribution: which classifier, image, draw and θ."""
        one = self.set.batch([place], self.job.device)
        where = f"{self.set.names[place]} (id {int(one.ids)})"
        nuisance = self.job.nuisances.get(cell.nuisance)
        if nuisance is not None:
            theta = bad.theta
            if theta is None:
                root = stream_root(self.job.seed, self.job.streams[cell.nuisance], self.job.device)
                theta = draw_theta(nuisance, one, torch.tensor([bad.draw], device=self.job.device), root)[0]
                where += f", draw {bad.draw}"
            where += f", θ = {_shown(nuisance.parameters, theta.tolist())}"
        return Failure(
            f"classifier {cell.classifier!r} gave {bad.wrong} for the image {where}",
            "Check its weights and its preprocessing (mean, std, range) on that image; finished units are kept.",
        )

    def _ensure_clean(self, first: int, end: int, names: list[str]) -> None:
        """The clean prediction of images [first, end), once per image and classifier."""
        units = self.job.units(CLEAN, self.name, CLEAN)
        size = units[0].images
        span = Span(first // size, min(math.ceil(end / size), len(units)))
        missing: dict[Span, list[str]] = {}
        for name in names:
            for gap in gaps(self.clean_done[name], span):
                missing.setdefault(gap, []).append(name)
        for gap, lacking in missing.items():
            at, until = _image_range(units[gap.first : gap.end])
            pairs = Pairs(torch.arange(until - at), torch.full((until - at,), -1))
            found = self._by_shape(CLEAN, at, until, pairs, partial(self._clean, at, lacking))
            for name in lacking:
                table = self._store(
                    Cell(CLEAN, name, self.name, CLEAN), gap, at, [(part, each[name]) for part, each in found]
                )
                self.clean[name][at:until] = table["predicted"].to_numpy()
                self.clean_done[name] = sorted([*self.clean_done[name], gap])

    def _clean(self, first: int, names: Sequence[str], part: Part, size: int) -> dict[str, Pending]:
        places = first + part.places
        labels = {name: self.references[name][places].to(self.job.device) for name in names}
        found = evaluate_clean(part.batch, {name: self.job.classifiers[name] for name in names}, labels, size)
        return {name: partial(to_table, part.batch.ids, part.pairs, each) for name, each in found.items()}

    def _by_shape(
        self,
        nuisance: str,
        first: int,
        end: int,
        pairs: Pairs,
        evaluate: Evaluate,
        following: tuple[int, int] | None = None,
    ) -> list[tuple[Part, dict[str, Pending]]]:
        """Evaluates `pairs` of images [first, end), one shape after the other.

        Images of one shape that fit into memory, as most do, are evaluated as they are."""
        blocks = [(first + part.start, first + part.stop) for part in slices(end - first, self.images_at_once)]
        found: list[tuple[Part, dict[str, Pending]]] = []
        for block, after in zip(blocks, [*blocks[1:], following], strict=True):
            groups = self._images(*block)
            if after is not None:
                self._read_ahead(*after)
            for places, batch in groups:
                self._check_late(nuisance, batch, block[0] + int(places[0]))
                here = places + (block[0] - first)
                part = Part(batch, here, pairs, None)
                if len(places) < end - first:
                    within = torch.full((end - first,), -1)
                    within[here] = torch.arange(len(here))
                    rows = (within[pairs.rows] >= 0).nonzero()[:, 0]
                    if not len(rows):
                        continue
                    part = Part(batch, here, Pairs(within[pairs.rows[rows]], pairs.draws[rows]), rows)
                found.append((part, self._halving(partial(evaluate, part))))
        return found

    def _check_late(self, nuisance: str, batch: Batch, place: int) -> None:
        """A shape that none of the images looked at beforehand had is checked when it turns up."""
        shape = shape_of(batch.images)
        if nuisance != CLEAN and shape not in self.set.shapes:
            check_nuisance(nuisance, self.job.nuisances[nuisance], shape, self.set.names[place])

    def _halving(self, compute: Callable[[int], T]) -> T:
        """Computes with the present batch size; what had to be halved stays halved."""
        found, self.batch_size = halving(compute, self.batch_size, self.progress.note)
        return found

    def _images(self, first: int, end: int) -> list[ShapeGroup]:
        return self._read_ahead(first, end).result()

    def _read_ahead(self, first: int, end: int) -> Future[list[ShapeGroup]]:
        """Images [first, end) of the set on the device, read by the other thread and kept while there is room."""
        key = (first, end)
        if key not in self.kept:
            self.kept[key] = self.reader.submit(self.set.groups, range(first, end), self.job.device)
        self.kept.move_to_end(key)
        bytes_each = 4 * math.prod(self.set.shape)
        while len(self.kept) > 2 and sum(stop - start for start, stop in self.kept) * bytes_each > IMAGES_KEPT:
            self.kept.popitem(last=False)
        return self.kept[key]

    def _on_device(self, values: NDArray[Any]) -> Tensor:
        return torch.from_numpy(values).to(self.job.device)


def _shown(names: Sequence[str], theta: Sequence[float]) -> str:
    """(a11 1.02, a21 0.1, …); a field over the pixels is only counted, its draw number says which it is."""
    if len(names) != len(theta):
        return f"{len(theta)} numbers"
    return "(" + ", ".join(f"{name} {value:.4g}" for name, value in zip(names, theta, strict=True)) + ")"


def _image_range(units: Sequence[Unit]) -> tuple[int, int]:
    return min(unit.first_image for unit in units), max(unit.end_image for unit in units)


def _pairs(units: Sequence[Unit], first: int) -> Pairs:
    """The pairs of some units, one unit after the other, with images counted from `first`."""
    parts = [all_pairs(unit.images, unit.first_draw, unit.end_draw) for unit in units]
    rows = [part.rows + (unit.first_image - first) for part, unit in zip(parts, units, strict=True)]
    return Pairs(torch.cat(rows), torch.cat([part.draws for part in parts]))
