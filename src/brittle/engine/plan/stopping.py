"""Early stopping: a cell's units are read in planned order, and the plan ends where the measure has enough.

Only the contiguous finished prefix of the plan is looked at, and what lies past the stopping point is discarded: one
worker or a hundred, resumed or not, give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from brittle.engine.execute.read_rows import read_rows
from brittle.engine.job import Job
from brittle.engine.plan.missing import image_range
from brittle.engine.store.unit_store import Store, by_unit
from brittle.measures.base import Cell, Fold, ReadRows, Tables
from brittle.measures.plan import Plan, Span

AT_ONCE = 64  # units whose reads are read together


class Feeder:
    """Feeds a fold with units of one cell. `given` tells what the measure reads of some images."""

    def __init__(self, fold: Fold, plan: Plan, given: Callable[[int, int], ReadRows]) -> None:
        self.fold, self.plan, self.given = fold, plan, given
        self._read_ahead: tuple[int, int, ReadRows] = (0, 0, {})  # of the images [first, end)

    @classmethod
    def of(cls, job: Job, store: Store, cell: Cell) -> Self:
        """With a cell's fold, not yet fed."""
        fold = job.assignments[cell.measure].measure.fold(job.about(cell))
        assert fold is not None, f"{cell.measure} is asked for its fold, and has none"

        def given(first: int, end: int) -> ReadRows:
            return read_rows(job, store, cell, first, end)

        return cls(fold, job.plan(cell), given)

    def feed(self, span: Span, tables: Tables) -> int:
        """Feeds the units of a span, until there are enough; how many that were."""
        for count, units in enumerate(zip(*(by_unit(span, table) for table in tables.values()), strict=True)):
            if self.fold.finished:
                return count
            place = units[0][0]
            here = dict(zip(tables, (table for _, table in units), strict=True))
            self.fold.update(self.plan[place], here, self._given(place, span))
        return span.end - span.first

    def _given(self, place: int, span: Span) -> ReadRows:
        """What is read about a unit, and with it about those that follow: one look at the store serves many."""
        first, end = image_range([self.plan[place]])
        if not self._read_ahead[0] <= first <= end <= self._read_ahead[1] or first == end:
            first, end = image_range(self.plan[place : min(place + AT_ONCE, span.end)])
            self._read_ahead = first, end, self.given(first, end)
        return self._read_ahead[2]


class Prefix:
    """Feeds a fold with one cell's units, however they arrive."""

    def __init__(self, feeder: Feeder) -> None:
        self.feeder, self.fold, self.plan = feeder, feeder.fold, feeder.plan
        self.read = 0  # units that have been fed
        self._waiting: dict[int, tuple[Span, Tables]] = {}

    @property
    def finished(self) -> bool:
        return self.fold.finished or self.read == len(self.plan)

    def add(self, span: Span, tables: Tables) -> None:
        """What lies past a gap waits until the gap is filled."""
        if self.fold.finished or span.end <= self.read:
            return
        self._waiting[span.first] = span, tables
        while (ready := self._waiting.pop(self.read, None)) is not None:
            self.read += self.feeder.feed(*ready)


def prefix_of(job: Job, store: Store, cell: Cell) -> Prefix:
    """A cell's fold, not yet fed."""
    return Prefix(Feeder.of(job, store, cell))
