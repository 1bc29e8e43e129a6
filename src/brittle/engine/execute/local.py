"""The local executor: one process, which never waits for the device.

A thread fetches, checks and stores the rows of one span while the next is computed, and another reads the images of the
span to come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import MappingProxyType

from brittle.engine.execute.read_rows import read_rows
from brittle.engine.execute.worker import ComputedPart, Worker
from brittle.engine.job import Job
from brittle.engine.plan.extension import Extension
from brittle.engine.plan.missing import (
    CellGroup,
    DoneUnits,
    asked_groups,
    compact_all,
    group_title,
    image_range,
    planned_calls,
    spans_of,
)
from brittle.engine.plan.stopping import Prefix, prefixes_of
from brittle.engine.store.unit_store import FileMerger, Store
from brittle.measures.base import Cell
from brittle.measures.plan import Span, Unit
from brittle.progress import Progress

IN_FLIGHT = 2  # spans computed but not yet stored


def carry_out(job: Job, store: Store, progress: Progress) -> None:
    """Computes every unit that the store lacks and the measures still ask for."""
    progress.start(sum(planned_calls(group) for group in asked_groups(job)))
    executor = LocalExecutor(job, store, progress)
    try:
        for group in asked_groups(job):
            executor.finish(group)
    except BaseException:
        executor.close(failed=True)
        raise
    executor.close()
    compact_all(job, store)
    executor.extension.remove_used_rows()


class LocalExecutor:
    """Holds what lives as long as a job: the worker, what is done, and the thread that stores."""

    def __init__(self, job: Job, store: Store, progress: Progress) -> None:
        self.job, self.store, self.progress = job, store, progress
        self.worker, self.units_done = Worker(job, progress.note), DoneUnits(job, store)
        self._writer = ThreadPoolExecutor(1)
        self._writing: deque[tuple[Cell, Future[None]]] = deque()
        self._merging, self.extension = FileMerger(store), Extension(job, store)

    def close(self, *, failed: bool = False) -> None:
        self.worker.close()
        self._writer.shutdown()
        if not failed:  # the first thing that went wrong is the one to tell
            self._wait()

    def finish(self, group: CellGroup) -> None:
        """All spans of one group, in planned order, until every classifier has finished."""
        calls = group.assignment.measure.calls
        self.progress.at(group_title(self.job, group))
        cut = spans_of(self.job, group, self.worker.batch_sizes[group.images])
        prefixes = self._prefixes(group)
        for place, span in enumerate(cut):
            going = [name for name in group.cells if not (name in prefixes and prefixes[name].finished)]
            if not going:
                self.progress.advance(sum(map(calls, group.plan[span.first :])) * len(group.cells))
                break
            ticks = CappedProgress(self.progress, sum(map(calls, group.plan[span.first : span.end])) * len(group.cells))
            following = cut[place + 1] if place + 1 < len(cut) else Span(0, 0)
            ahead = group.plan[following.first : following.end]
            self._ensure(group.only(going), span)
            self._compute(group.only(going), span, prefixes, ticks, ahead)
            ticks.complete()
        self._wait()

    def _prefixes(self, group: CellGroup) -> dict[str, Prefix]:
        """The folds of a measure that may stop early, fed with what is done; what they read may have been lost."""
        if self.job.can_stop(group.any_cell):
            for name, cell in group.cells.items():
                for span in self.units_done.done(cell):
                    self._ensure(group.only([name]), span)
            self._wait()
        return prefixes_of(self.job, self.store, group)

    def _ensure(self, group: CellGroup, span: Span) -> None:
        """Has everything done that a span's measure reads."""
        for needed, part in self.units_done.needed(group, span):
            if self.units_done.missing(needed, part):
                self._ensure(needed, part)
                self._compute(needed, part)

    def _compute(
        self,
        group: CellGroup,
        span: Span,
        prefixes: Mapping[str, Prefix] = MappingProxyType({}),
        tick: Callable[[int], None] = lambda _: None,
        ahead: Sequence[Unit] = (),
    ) -> None:
        """What is missing of a span, for the classifiers that lack it."""
        for gap, names in self.units_done.missing(group, span).items():
            lacking = group.only(names)
            self._wait_for(read for cell in lacking.cells.values() for read in self.job.reads(cell).values())
            images = image_range(group.plan[gap.first : gap.end])
            given = {name: read_rows(self.job, self.store, cell, *images) for name, cell in lacking.cells.items()}
            for some, wanted in self.extension.split(lacking, gap):
                parts = self.worker.compute(some, gap, given, tick, ahead, wanted)
                for name, cell in some.cells.items():
                    stored = self._writer.submit(self._store, cell, gap, parts, name, prefixes.get(name))
                    self._writing.append((cell, stored))
                    self.units_done.add(cell, gap)
                    if name in prefixes:
                        stored.result()
            while len(self._writing) > IN_FLIGHT * len(names):
                self._writing.popleft()[1].result()

    def _store(self, cell: Cell, span: Span, parts: Sequence[ComputedPart], name: str, prefix: Prefix | None) -> None:
        tables = self.extension.completed(cell, span, self.worker.collect(cell, parts, name))
        self.store.write(cell, span, tables)
        self._merging.after_write(cell)
        if prefix is not None:
            prefix.add(span, tables)

    def _wait_for(self, cells: Iterable[Cell]) -> None:
        """Until nothing of these cells is still to be stored."""
        wanted = set(cells)
        if any(cell in wanted for cell, _ in self._writing):
            self._wait()

    def _wait(self) -> None:
        while self._writing:
            self._writing.popleft()[1].result()


class CappedProgress:
    """Tells the progress of a piece of work of so many calls, and never more than those."""

    def __init__(self, progress: Progress, most: int) -> None:
        self.progress, self.left = progress, most

    def __call__(self, calls: int) -> None:
        more = min(calls, self.left)
        self.left -= more
        self.progress.advance(more)

    def complete(self) -> None:
        self(self.left)
