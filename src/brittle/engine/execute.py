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
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.engine.job import CLEAN, Job, check_nuisance, reference_labels
from brittle.engine.memory import halving, keep_mapped
from brittle.engine.progress import Silent
from brittle.engine.rows import first_bad, to_columns, to_table
from brittle.engine.store import Cell, FolderStore, Span, Store, gaps
from brittle.engine.watch import Watch
from brittle.errors import Failure
from brittle.images.base import Group, shape_of
from brittle.measures.evaluate import Pairs, all_pairs, draw_theta, evaluate_clean, evaluate_draws, slices
from brittle.measures.plan import Unit
from brittle.random import stream_root
from brittle.types import Batch

T = TypeVar("T")
Evaluate = Callable[[Batch, Pairs, Mapping[str, Tensor], int], dict[str, Tensor]]

BATCHES_PER_SPAN = 4
IMAGES_KEPT = 1 << 30  # bytes of images kept on the device between spans
IMAGES_AT_ONCE = 1 << 30  # bytes of a span's images that are on the device together
IN_FLIGHT = 2  # spans computed but not yet stored


def carry_out(job: Job, store: Store, progress: Silent) -> None:
    """Computes every unit that the store lacks and the tolerance still asks for."""
    if job.device.type == "cpu":
        keep_mapped()
    if isinstance(store, FolderStore):
        _remove_torn(job, store, progress)
    progress.start(
        sum(unit.rows for images in job.images for each in job.nuisances for unit in job.units(images, each))
        * len(job.classifiers)
    )
    for images in job.images:
        with _Executor(job, store, images, progress) as executor:
            for nuisance in job.nuisances:
                executor.carry_out(nuisance)


def _remove_torn(job: Job, store: FolderStore, progress: Silent) -> None:
    for images in job.images:
        for nuisance in (CLEAN, *job.nuisances):
            units = job.units(images, nuisance)
            for classifier in job.classifiers:
                torn = store.verify(
                    Cell(classifier, images, nuisance),
                    lambda span, units=units: sum(unit.rows for unit in units[span.first : span.end]),  # type: ignore[misc]
                )
                for path in torn:
                    progress.note(f"{path} was torn or incomplete; its units are computed anew")


class _Executor:
    """One image set. Holds what lives as long as its spans: images on the device, clean predictions, two threads."""

    def __init__(self, job: Job, store: Store, images: str, progress: Silent) -> None:
        self.job, self.store, self.name, self.progress = job, store, images, progress
        self.set = job.images[images].images
        self.batch_size = job.batch_size(images)
        self.images_at_once = max(1, IMAGES_AT_ONCE // (4 * math.prod(self.set.shape)))
        self.references = {
            name: reference_labels(classifier, name, self.set) for name, classifier in job.classifiers.items()
        }
        self.clean = {name: np.full(len(self.set), -1, dtype=np.int64) for name in job.classifiers}
        self.clean_done: dict[str, list[Span]] = {}
        self.kept: OrderedDict[tuple[int, int], Future[list[Group]]] = OrderedDict()
        self.reader, self.writer = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self.writing: deque[Future[None]] = deque()

    def __enter__(self) -> _Executor:
        units = self.job.units(self.name, CLEAN)
        for name, predictions in self.clean.items():
            cell = Cell(name, self.name, CLEAN)
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

    def carry_out(self, nuisance: str) -> None:
        """All spans of one nuisance, in planned order, until every classifier has finished."""
        units = self.job.units(self.name, nuisance)
        self.progress.at(f"{self.name} · {nuisance}")
        spans = self._spans(units)
        done = {name: self.store.done(Cell(name, self.name, nuisance)) for name in self.job.classifiers}
        watches = self._watches(nuisance, units) if self.job.measure.tolerance is not None else {}
        for place, span in enumerate(spans):
            missing: dict[Span, list[str]] = {}
            rows = sum(unit.rows for unit in units[span.first : span.end])
            for name, have in done.items():
                if not (name in watches and watches[name].finished):
                    for gap in gaps(have, span):
                        missing.setdefault(gap, []).append(name)
            for gap, names in missing.items():
                following = spans[place + 1] if place + 1 < len(spans) else None
                self._compute(nuisance, units, gap, names, watches, following)
            if watches and all(watch.finished for watch in watches.values()):
                rows = sum(unit.rows for unit in units[span.first :])
            self.progress.advance(rows * len(done))
            if watches and all(watch.finished for watch in watches.values()):
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

    def _watches(self, nuisance: str, units: Sequence[Unit]) -> dict[str, Watch]:
        """With a tolerance, each classifier's way so far: read back from the store when a run is resumed."""
        population = len(self.job.images[self.name].whole)
        watches = {}
        for name in self.job.classifiers:
            watch = Watch(self.job.measure, units, len(self.set), population, self.clean[name])
            for span, rows in self.store.read(Cell(name, self.name, nuisance)):
                watch.feed(span, to_columns(rows))
            watches[name] = watch
        return watches

    def _compute(
        self,
        nuisance: str,
        units: Sequence[Unit],
        span: Span,
        names: list[str],
        watches: dict[str, Watch],
        following: Span | None,
    ) -> None:
        first, end = _image_range(units[span.first : span.end])
        self._ensure_clean(first, end, names)
        pairs = _pairs(units[span.first : span.end], first)
        references = {
            name: self._on_device(np.where(labels < 0, self.clean[name][first:end], labels))
            for name in names
            for labels in (self.references[name][first:end].numpy(),)
        }
        job = self.job
        outcomes = self._by_shape(
            nuisance,
            first,
            end,
            pairs,
            references,
            lambda batch, pairs, references, size: evaluate_draws(
                batch,
                pairs,
                job.nuisances[nuisance],
                job.streams[nuisance],
                job.seed,
                {name: job.classifiers[name] for name in names},
                references,
                size,
            ),
            None if following is None else _image_range(units[following.first : following.end]),
        )
        for name, found in outcomes.items():
            watch = watches.get(name)
            stored = self.writer.submit(self._store, Cell(name, self.name, nuisance), span, first, pairs, found, watch)
            self.writing.append(stored)
            if watch is not None:
                stored.result()
        while len(self.writing) > IN_FLIGHT * max(1, len(names)):
            self.writing.popleft().result()

    def _store(
        self, cell: Cell, span: Span, first: int, pairs: Pairs, found: Tensor, watch: Watch | None = None
    ) -> None:
        """Fetches one classifier's outcomes, refuses what is no distribution, and stores the rest as rows."""
        outcomes, places, draws = found.cpu().numpy(), first + pairs.rows.numpy(), pairs.draws.numpy()
        bad = first_bad(outcomes)
        if bad is not None:
            raise self._refusal(cell, int(places[bad.row]), int(draws[bad.row]), bad.wrong)
        table = to_table(self.set.ids.numpy()[places], draws, outcomes)
        self.store.write(cell, span, table)
        if watch is not None:
            watch.feed(span, to_columns(table))

    def _refusal(self, cell: Cell, place: int, draw: int, wrong: str) -> Failure:
        """The error for an answer that is no distribution: which classifier, image, draw and θ."""
        one = self.set.batch([place], self.job.device)
        where = f"{self.set.names[place]} (id {int(one.ids)})"
        nuisance = self.job.nuisances.get(cell.nuisance)
        if nuisance is not None:
            root = stream_root(self.job.seed, self.job.streams[cell.nuisance], self.job.device)
            theta = draw_theta(nuisance, one, torch.tensor([draw], device=self.job.device), root)[0].tolist()
            where += f", draw {draw}, θ = {_shown(nuisance.parameters, theta)}"
        return Failure(
            f"classifier {cell.classifier!r} gave {wrong} for the image {where}",
            "Check its weights and its preprocessing (mean, std, range) on that image; finished units are kept.",
        )

    def _ensure_clean(self, first: int, end: int, names: list[str]) -> None:
        """The clean prediction of images [first, end), once per image and classifier."""
        units = self.job.units(self.name, CLEAN)
        size = units[0].images
        span = Span(first // size, min(math.ceil(end / size), len(units)))
        missing: dict[Span, list[str]] = {}
        for name in names:
            for gap in gaps(self.clean_done[name], span):
                missing.setdefault(gap, []).append(name)
        for gap, lacking in missing.items():
            at, until = _image_range(units[gap.first : gap.end])
            references = {name: self.references[name][at:until].to(self.job.device) for name in lacking}
            classifiers = {name: self.job.classifiers[name] for name in lacking}
            pairs = Pairs(torch.arange(until - at), torch.full((until - at,), -1))
            outcomes = self._by_shape(
                CLEAN,
                at,
                until,
                pairs,
                references,
                lambda batch, _, labels, size, c=classifiers: evaluate_clean(batch, c, labels, size),  # type: ignore[misc]
            )
            for name, found in outcomes.items():
                self._store(Cell(name, self.name, CLEAN), gap, at, pairs, found)
                self.clean[name][at:until] = found[:, 2].cpu().numpy()
                self.clean_done[name] = sorted([*self.clean_done[name], gap])

    def _by_shape(
        self,
        nuisance: str,
        first: int,
        end: int,
        pairs: Pairs,
        references: Mapping[str, Tensor],
        evaluate: Evaluate,
        following: tuple[int, int] | None = None,
    ) -> dict[str, Tensor]:
        """Outcomes (R, 5) per classifier of `pairs` of images [first, end), one shape after the other, rows in order.

        Images of one shape that fit into memory, as most do, are evaluated as they are."""
        blocks = [(first + part.start, first + part.stop) for part in slices(end - first, self.images_at_once)]
        found: dict[str, Tensor] = {}
        for block, after in zip(blocks, [*blocks[1:], following], strict=True):
            groups = self._images(*block)
            if after is not None:
                self._read_ahead(*after)
            for places, batch in groups:
                self._check_late(nuisance, batch, block[0] + int(places[0]))
                if len(places) == end - first:
                    return self._halving(partial(evaluate, batch, pairs, references))
                here = places + (block[0] - first)
                within = torch.full((end - first,), -1)
                within[here] = torch.arange(len(here))
                rows = (within[pairs.rows] >= 0).nonzero()[:, 0]
                if len(rows):
                    own = Pairs(within[pairs.rows[rows]], pairs.draws[rows])
                    labels = {name: values[here.to(values.device)] for name, values in references.items()}
                    for name, part in self._halving(partial(evaluate, batch, own, labels)).items():
                        whole = found.setdefault(name, part.new_empty(len(pairs.rows), part.shape[1]))
                        whole[rows.to(part.device)] = part
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

    def _images(self, first: int, end: int) -> list[Group]:
        return self._read_ahead(first, end).result()

    def _read_ahead(self, first: int, end: int) -> Future[list[Group]]:
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
