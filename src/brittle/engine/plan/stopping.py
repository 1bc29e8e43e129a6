"""Early stopping: a cell's units are read in planned order, and the plan ends where the measure has enough.

Only the contiguous finished prefix of the plan is looked at, and what lies past the stopping point is discarded: one
worker or a hundred, resumed or not, give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable

from brittle.engine.execute.read_rows import read_rows
from brittle.engine.job import Job
from brittle.engine.plan.missing import image_range
from brittle.engine.store.unit_store import Store, by_unit
from brittle.measures.base import Cell, Fold, ReadRows, Tables
from brittle.measures.plan import Plan, Span, Unit


class Prefix:
    """Feeds a fold with one cell's units, however they arrive. `given` tells what a unit's measure reads."""

    def __init__(self, fold: Fold, plan: Plan, given: Callable[[Unit], ReadRows]) -> None:
        self.fold, self.plan, self.given = fold, plan, given
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
            self._feed(*ready)

    def _feed(self, span: Span, tables: Tables) -> None:
        for units in zip(*(by_unit(span, table) for table in tables.values()), strict=True):
            if self.fold.finished:
                return
            place = units[0][0]
            unit = self.plan[place]
            self.fold.feed(unit, dict(zip(tables, (table for _, table in units), strict=True)), self.given(unit))
            self.read += 1


def prefix_of(job: Job, store: Store, cell: Cell) -> Prefix:
    """A cell's fold, not yet fed."""
    fold = job.assignments[cell.measure].measure.fold(job.about(cell))
    assert fold is not None, f"{cell.measure} may stop early, and has nothing that says when"

    def given(unit: Unit) -> ReadRows:
        return read_rows(job, store, cell, *image_range([unit]))

    return Prefix(fold, job.plan(cell), given)
