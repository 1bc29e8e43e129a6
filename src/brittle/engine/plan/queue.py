"""What to compute next: work in planned order, each piece behind what it reads, and what becomes of a piece that fails.

Nothing here computes or knows who does: an executor, in this process or on a cluster, takes work, and says what became
of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from types import MappingProxyType

from brittle.engine.job import Job
from brittle.engine.plan.extension import Extension
from brittle.engine.plan.missing import CellGroup, DoneUnits, asked_groups, compact_all, group_title, spans, spans_of
from brittle.engine.plan.stopping import Prefix, prefix_of
from brittle.engine.store.unit_store import Store, gaps, whole_tables
from brittle.errors import Failure
from brittle.measures.base import Cell, Tables
from brittle.measures.plan import Span, Unit
from brittle.progress import Progress

ATTEMPTS = 3  # at a unit, before it counts as failed
FAILING = 8  # units of a cell that fail one after the other: the rest of it would too
WINDOW = 64  # pieces of work that are looked at to find one whose reads are there
SHOWN = 4  # cells named in a message


@dataclass(frozen=True)
class WorkItem:
    """Units of some cells that one worker computes together."""

    group: CellGroup
    span: Span
    asked: bool = True  # False: only there to be read, which progress does not count
    attempts: int = 0
    alone: bool = False  # a worker died over it: its next one gets nothing else beside it

    @property
    def cells(self) -> tuple[Cell, ...]:
        return tuple(self.group.cells.values())

    @property
    def calls(self) -> int:
        """As progress counts them."""
        units = self.group.plan[self.span.first : self.span.end] if self.asked else ()
        return sum(map(self.group.assignment.measure.calls, units)) * len(self.group.cells)

    @property
    def units(self) -> int:
        """Units of all cells together."""
        return (self.span.end - self.span.first) * len(self.group.cells)

    def __str__(self) -> str:
        """robustness · plain, other · photos · affine, units 3 to 5"""
        measure, _, images, nuisance = self.cells[0]
        names = ", ".join(filter(None, self.group.cells))
        first, last = self.span.first, self.span.end - 1
        which = f"unit {first}" if first == last else f"units {first} to {last}"
        return f"{' · '.join(filter(None, (measure, names, images, nuisance)))}, {which}"

    def parts(self) -> list[WorkItem]:
        """Unit by unit, and one unit cell by cell; none where this is one unit of one cell."""
        if self.span.end - self.span.first > 1:
            return [replace(self, span=Span(unit, unit + 1)) for unit in range(*self.span)]
        if len(self.group.cells) > 1:
            return [replace(self, group=self.group.only([name])) for name in self.group.cells]
        return []


class WorkQueue:
    """Hands out what is missing of a job, and keeps count of what is done, failed, and stopped."""

    def __init__(self, job: Job, store: Store, progress: Progress) -> None:
        self.job, self.store, self.progress = job, store, progress
        self._done, self._claimed = DoneUnits(job, store), DoneUnits(job, store)  # claimed: done, or once handed out
        self._planned: Iterator[WorkItem | None] | None = self._plan()
        self._waiting: list[WorkItem] = []
        self._following: tuple[CellGroup, Span] | None = None  # of the group that is being planned
        self._prefixes: dict[Cell, tuple[CellGroup, Prefix]] = {}
        self._followers: dict[Cell, list[Cell]] = {}  # cell → those whose fold waits for its units
        self._in_flight = self._early = 0  # calls: of work that is being done, and of these those told already
        self._needed: dict[tuple[tuple[Cell, ...], Span], list[tuple[CellGroup, Span]]] = {}  # by what waits for it
        self._failed: dict[Cell, dict[int, str]] = {}  # unit → why
        self._in_a_row: Counter[Cell] = Counter()
        self._lost: dict[Cell, set[int]] = {}  # units that failed, or are out of reach because of those
        self._given_up: set[Cell] = set()

    def ready_up_to(self, most: int) -> int:
        """How many pieces of work there are to hand out, as far as is known now and counted up to `most`."""
        while len(self._waiting) < most and self._plan_next():
            pass
        return min(most, len(self._waiting))

    @property
    def exhausted(self) -> bool:
        """Whether everything has been handed out."""
        return not self.ready_up_to(1) and self._planned is None

    def _plan_next(self) -> bool:
        """Plans the next piece, no sooner than it is wanted: what has stopped by then is not planned any more."""
        if self._planned is None or len(self._waiting) >= WINDOW:
            return False
        try:
            work = next(self._planned)
        except StopIteration:
            self._planned = None
            return False
        if work is not None:
            self._waiting.append(work)
        return work is not None

    def take(self, *, idle: bool, in_order: bool = False) -> WorkItem | None:
        """The first piece whose reads are there, for a worker that is `idle` or has something to do already; None
        while there is none, or `in_order` while the reads of the very first are not there."""
        place = 0
        while place < len(self._waiting) or self._plan_next():
            work = self._without_stopped_cells(self._waiting[place])
            self._waiting[place : place + 1] = [work] if work.cells else []
            if not work.cells:
                continue
            lacking = self._lacking(work)
            if self._is_out_of_reach(work, lacking):
                self._waiting[place : place + 1] = smaller = work.parts()
                if not smaller:
                    self._leave_out(work)
            elif lacking and not in_order:
                place += 1
            elif lacking or (work.alone and not idle):
                return None
            else:
                return self._handed_out(self._waiting.pop(place))
        return None

    def _lacking(self, work: WorkItem) -> list[tuple[Cell, Span]]:
        """What a piece that waits reads and is not there yet."""
        key = work.cells, work.span
        if key not in self._needed:
            self._needed[key] = list(self._done.needed(work.group, work.span))
        self._needed[key] = [each for each in self._needed[key] if self._done.missing(*each)]
        return self._cells_missing(self._needed[key])

    def _handed_out(self, work: WorkItem) -> WorkItem:
        self._needed.pop((work.cells, work.span), None)
        self._in_flight += work.calls
        if work.asked:
            self.progress.at(group_title(self.job, work.group))
        return work

    def ahead(self) -> tuple[str, Sequence[Unit]]:
        """An image set and the units of it that are likely to come next, whose images may be read meanwhile."""
        if self._waiting:
            group, span = self._waiting[0].group, self._waiting[0].span
        elif self._following is not None:
            group, span = self._following
        else:
            return "", ()
        return group.images, group.plan[span.first : span.end]

    def tick(self, calls: int) -> None:
        """Tells progress of calls within a piece that is being done."""
        more = max(0, min(calls, self._in_flight - self._early))
        self._early += more
        self.progress.advance(more)

    def _advance(self, calls: int) -> None:
        """Tells progress of calls that are done or not needed, but for those that it was told of already."""
        told = min(calls, self._early)
        self._early -= told
        self.progress.advance(calls - told)

    def mark_done(self, work: WorkItem, tables: Mapping[Cell, Tables] = MappingProxyType({})) -> None:
        """Notes what was committed, and feeds what may stop: with the `tables` at hand, else from the store."""
        for cell in work.cells:
            self._done.add(cell, work.span)
            self._in_a_row[cell] = 0
        self._in_flight -= work.calls
        self._advance(work.calls)
        for cell in tables.keys() & self._prefixes.keys():
            prefix = self._prefixes[cell][1]
            if prefix.read == work.span.first:
                prefix.add(work.span, tables[cell])
        self._feed(work.cells)

    def put_back(self, work: WorkItem) -> None:
        """Puts work back that was taken and not done."""
        self._in_flight -= work.calls
        self._waiting.insert(0, work)

    def mark_failed(self, work: WorkItem, why: str, *, blamed: bool = True, alone: bool = False) -> None:
        """Has what is left of some work done again, in smaller pieces, or counts it as failed after enough attempts.

        Work that is not `blamed` was beside other work when its worker died, and is tried again as it is."""
        left = []
        for cell in work.cells:
            self._done.reload(cell)
        for gap, names in self._done.missing(work.group, work.span).items():
            left.append(replace(work, group=work.group.only(names), span=gap, alone=work.alone or alone))
        self._in_flight -= work.calls
        self._advance(work.calls - sum(each.calls for each in left))
        again: list[WorkItem] = []
        for each in left:
            tried = replace(each, attempts=each.attempts + 1) if blamed else each
            smaller = tried.parts() if blamed else []
            if not smaller and tried.attempts >= ATTEMPTS:
                self._fail(tried, why)
            else:
                again += smaller or [tried]
        self._waiting[:0] = again
        self._feed(work.cells)

    def finish(self) -> None:
        """Merges what is there; where units failed, raises a failure that names them."""
        compact_all(self.job, self.store)
        if self._failed:
            raise self._failure()
        Extension(self.job, self.store).remove_used_rows()

    def _plan(self) -> Iterator[WorkItem | None]:
        """Everything that is missing, in planned order; what a piece reads comes just ahead of it. None where the
        next piece is not known before more is done."""
        for group in asked_groups(self.job):
            if self.job.can_stop(group.any_cell):
                yield from self._begin_prefixes(group)
            yield from self._group(group)

    def _begin_prefixes(self, group: CellGroup) -> Iterator[WorkItem | None]:
        """Follows cells that may stop early, from what is done; what was read for that may have been lost."""
        begun = [(group.only([name]), span) for name, cell in group.cells.items() for span in self._done.done(cell)]
        for name, cell in group.cells.items():
            self._prefixes[cell] = group.only([name]), prefix_of(self.job, self.store, cell)
            for source in (cell, *self.job.reads(cell).values()):
                self._followers.setdefault(source, []).append(cell)
        for one, span in begun:
            yield from self._reads(one, span)
        for one, span in begun:
            while (lacking := self._missing_reads(one, span)) and not self._any_lost(lacking):
                yield None
        self._feed(group.cells.values())

    def _group(self, group: CellGroup) -> Iterator[WorkItem]:
        calls = group.assignment.measure.calls
        for span, following in pairwise(chain(spans_of(self.job, group, self.job.batch_size(group.images)), [None])):
            assert span is not None
            self._following = None if following is None else (group, following)
            ended = self._given_up | {cell for cell in group.cells.values() if self._stopped(cell)}
            going = group.only(name for name, cell in group.cells.items() if cell not in ended)
            if not going.cells:
                self._advance(sum(map(calls, group.plan[span.first :])) * len(group.cells))
                return
            yield from self._reads(going, span)
            counted = 0
            for gap, names in self._claimed.missing(going, span).items():
                work = WorkItem(group.only(names), gap)
                counted += work.calls
                yield self._claim(work)
            self._advance(sum(map(calls, group.plan[span.first : span.end])) * len(group.cells) - counted)

    def _reads(self, group: CellGroup, span: Span) -> Iterator[WorkItem]:
        """What a span's measure reads and that has not been handed out yet, behind what that reads."""
        for needed, part in self._claimed.needed(group, span):
            for gap, names in self._claimed.missing(needed, part).items():
                lacking = needed.only(names)
                units = needed.plan[gap.first : gap.end]
                for piece in spans(units, needed.assignment.measure.calls, self.job.batch_size(needed.images)):
                    work = WorkItem(lacking, Span(gap.first + piece.first, gap.first + piece.end), asked=False)
                    yield from self._reads(work.group, work.span)
                    yield self._claim(work)

    def _claim(self, work: WorkItem) -> WorkItem:
        for cell in work.cells:
            self._claimed.add(cell, work.span)
        return work

    def _stopped(self, cell: Cell) -> bool:
        """Whether a cell's measure has all that it wants."""
        return cell in self._prefixes and self._prefixes[cell][1].finished

    def _without_stopped_cells(self, work: WorkItem) -> WorkItem:
        """Without the cells that have reached their stopping point since it was planned."""
        if not any(map(self._stopped, work.cells)):
            return work
        names = [name for name, cell in work.group.cells.items() if not self._stopped(cell)]
        wanted = replace(work, group=work.group.only(names))
        self._advance(work.calls - wanted.calls)
        return wanted

    def _missing_reads(self, group: CellGroup, span: Span) -> list[tuple[Cell, Span]]:
        """What a span's measure reads and is not there yet."""
        return self._cells_missing(self._done.needed(group, span))

    def _cells_missing(self, wanted: Iterable[tuple[CellGroup, Span]]) -> list[tuple[Cell, Span]]:
        return [
            (needed.cells[name], gap)
            for needed, part in wanted
            for gap, names in self._done.missing(needed, part).items()
            for name in names
        ]

    def _is_out_of_reach(self, work: WorkItem, lacking: list[tuple[Cell, Span]]) -> bool:
        return any(cell in self._given_up for cell in work.cells) or self._any_lost(lacking)

    def _any_lost(self, units: list[tuple[Cell, Span]]) -> bool:
        return any(
            cell in self._given_up or any(span.first <= unit < span.end for unit in self._lost.get(cell, ()))
            for cell, span in units
        )

    def _fail(self, work: WorkItem, why: str) -> None:
        """Counts one unit of one cell as failed."""
        cell = work.cells[0]
        self._failed.setdefault(cell, {})[work.span.first] = why
        self.progress.failed(str(work), why)
        self._in_a_row[cell] += 1
        if self._in_a_row[cell] >= FAILING:
            self._given_up.add(cell)
        self._leave_out(work)

    def _leave_out(self, work: WorkItem) -> None:
        """Leaves out one unit of one cell, and all of a cell that could stop: it never counts what lies behind."""
        cell = work.cells[0]
        self._lost.setdefault(cell, set()).add(work.span.first)
        if self.job.can_stop(cell):
            self._given_up.add(cell)
        self._advance(work.calls)

    def _feed(self, cells: Iterable[Cell]) -> None:
        """Feeds folds that wait for these cells with what is done: what is contiguous, and has its reads there."""
        for cell in dict.fromkeys(chain.from_iterable(self._followers.get(each, ()) for each in cells)):
            group, prefix = self._prefixes[cell]
            ends = (span.end for span in self._done.done(cell) if span.first <= prefix.read < span.end)
            if prefix.finished or (end := next(ends, None)) is None:
                continue
            following = Span(prefix.read, end)
            if not self._missing_reads(group, following):
                for span, tables in whole_tables(self.store, cell, following):
                    prefix.add(span, tables)

    def _failure(self) -> Failure:
        """Which units failed and why, and what was left out for that reason."""
        failed = [
            f"{_named(cell)}: {_units(units)} failed {ATTEMPTS} times ({next(iter(units.values())).rstrip('.')})"
            for cell, units in self._failed.items()
        ]
        left_out = []
        for cell in (cell for group in asked_groups(self.job) for cell in group.cells.values()):
            plan = Span(0, len(self.job.plan(cell)))
            missing = sum(gap.end - gap.first for gap in gaps(self._done.done(cell), plan))
            missing -= len(self._failed.get(cell, ()))
            if missing and not self._stopped(cell):
                left_out.append(f"{_named(cell)} ({missing} {'unit' if missing == 1 else 'units'})")
        because = f"; left out because of that: {_some(left_out, ', ')}" if left_out else ""
        return Failure(
            _some(failed, "; ") + because,
            "Everything else is done. Fix the cause and give the same command again: only what is missing is computed.",
        )


def _named(cell: Cell) -> str:
    return " · ".join(filter(None, cell))


def _units(numbers: dict[int, str]) -> str:
    """unit 3; units 3, 5, 7–9"""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    listed = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)
    return f"unit{'s' if len(numbers) > 1 else ''} {listed}"


def _some(items: list[str], between: str) -> str:
    more = f"{between}and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
    return between.join(items[:SHOWN]) + more
