"""What every executor does with a piece of work: reads what its measure is given, computes it, fetches the rows, puts
them beside those known from before the run was extended, and stores them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from brittle.engine.execute.read_rows import read_rows
from brittle.engine.execute.worker import ComputedPart, Worker
from brittle.engine.job import Job
from brittle.engine.plan.extension import Extension
from brittle.engine.plan.missing import CellGroup, image_range
from brittle.engine.store.unit_store import Store
from brittle.measures.base import Cell, ReadRows, Tables
from brittle.measures.plan import Span, Unit


class ComputedCell(NamedTuple):
    """A cell's part of a piece, its rows still on the device."""

    cell: Cell
    classifier: str
    parts: Sequence[ComputedPart]


class StoredPiece(NamedTuple):
    """What was stored of a piece, and what went wrong with the first cell that was not."""

    tables: Mapping[Cell, Tables]
    wrong: Exception | None


class PieceWorker:
    """A worker with the store that its rows go to."""

    def __init__(self, job: Job, store: Store, note: Callable[[str], None]) -> None:
        self.job, self.store = job, store
        self.worker, self.extension = Worker(job, note), Extension(job, store)

    def close(self) -> None:
        self.worker.close()

    def given(self, group: CellGroup, span: Span, *, looks: int = 1) -> dict[str, ReadRows]:
        """By classifier: what the group's measure reads about a span."""
        images = image_range(group.plan[span.first : span.end])
        return {name: read_rows(self.job, self.store, cell, *images, looks=looks) for name, cell in group.cells.items()}

    def compute(
        self,
        group: CellGroup,
        span: Span,
        given: Mapping[str, ReadRows],
        tick: Callable[[int], None] = lambda _: None,
        following: tuple[str, Sequence[Unit]] = ("", ()),
    ) -> list[ComputedCell]:
        """What a run that was extended does not know already of a span, cell by cell."""
        return [
            ComputedCell(cell, name, parts)
            for some, wanted in self.extension.split(group, span)
            for parts in [self.worker.compute(some, span, given, tick, following, wanted)]
            for name, cell in some.cells.items()
        ]

    def save(self, span: Span, computed: Sequence[ComputedCell]) -> StoredPiece:
        """Fetches and stores a piece cell by cell. Where something is wrong with one cell's rows, the others' are
        stored nevertheless; where the store fails, that is raised."""
        stored: dict[Cell, Tables] = {}
        wrong: Exception | None = None
        for cell, classifier, parts in computed:
            try:
                tables = self.extension.completed(cell, span, self.worker.collect(cell, parts, classifier))
            except Exception as error:
                wrong = wrong or error
                continue
            self.store.write(cell, span, tables)
            stored[cell] = tables
        return StoredPiece(stored, wrong)
