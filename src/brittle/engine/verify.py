"""Recomputes some units of a run, drawn at random, and holds them against the rows that are stored."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from brittle.classifiers.restore import restored_afterwards
from brittle.device import products_in
from brittle.engine.assemble import assemble
from brittle.engine.check.before_work import check_job
from brittle.engine.execute.read_rows import read_rows
from brittle.engine.execute.worker import Worker
from brittle.engine.execution import carried_as
from brittle.engine.inputs import Inputs
from brittle.engine.job import Job
from brittle.engine.plan.missing import CellGroup, groups, image_range
from brittle.engine.row_differences import row_difference
from brittle.engine.store.place import Place
from brittle.engine.store.run_folder import RunFolder
from brittle.engine.store.unit_store import FolderStore, whole_tables
from brittle.errors import BrittleError
from brittle.measures.base import Cell, Tables, together
from brittle.measures.plan import Span
from brittle.progress import Progress
from brittle.study import Study

SHOWN = 10  # differences


@dataclass(frozen=True)
class RowDifference:
    """A unit whose rows are not what was computed again."""

    unit: str  # in words
    table: str
    what: str  # the first is what is stored, the second what was computed


@dataclass(frozen=True)
class Verification:
    """What came of recomputing a sample."""

    folder: str
    units: int  # of one classifier each
    rows: int
    measures: dict[str, int]  # units of each
    different: tuple[RowDifference, ...]

    @property
    def same(self) -> bool:
        return not self.different

    def values(self) -> dict[str, Any]:
        """As plain values."""
        return {"same": self.same} | asdict(self)

    def __str__(self) -> str:
        counted = ", ".join(f"{count} of {name}" for name, count in self.measures.items())
        lines = [f"{self.folder}: {self.units:,} units recomputed ({counted}), {self.rows:,} rows: "
                 + ("all as they are stored" if self.same else f"{len(self.different)} differ")]  # fmt: skip
        lines += [f"{each.unit}, {each.table}: {each.what}" for each in self.different[:SHOWN]]
        more = len(self.different) - SHOWN
        return "\n".join([*lines, *([f"… and {more} more"] if more > 0 else [])])


def verified(
    place: Place, units: int, seed: int, device: str | None, batch: int | None, progress: Progress
) -> Verification:
    """Recomputes that many units, each of one classifier; the sample is drawn by the seed."""
    folder = RunFolder(place)
    study = Study.of(folder.read_study(), str(folder.study))
    inputs = Inputs(study)
    with restored_afterwards(inputs.classifiers.values()), products_in(study.precision):
        job, answers = check_job(assemble(inputs, device, batch, kept=True))
        folder.refuse_other_inputs(job, answers)
        job = carried_as(job, study.compile, folder.compiled())
        return _compared(job, folder.store(job), str(place), units, seed, progress)


def _compared(job: Job, store: FolderStore, where: str, units: int, seed: int, progress: Progress) -> Verification:
    chosen = list(_sample(job, store, units, random.Random(seed)))
    if not chosen:
        raise BrittleError(f"the run in {where} holds no rows yet", "Give the run command first.")
    progress.start(len(chosen))
    worker, rows, counted = Worker(job, progress.note), 0, dict[str, int]()
    different: list[RowDifference] = []
    try:
        for group, name, unit in chosen:
            cell, span = group.cells[name], Span(unit, unit + 1)
            before = _stored(store, cell, span)
            after = _computed(job, store, worker, group, name, span)
            rows += sum(table.num_rows for table in before.values())
            counted[cell.measure] = counted.get(cell.measure, 0) + 1
            title = f"{' · '.join(filter(None, cell))}, unit {unit}"
            different += [RowDifference(title, *each) for each in _differences(before, after)]
            progress.advance(1)
    finally:
        worker.close()
    return Verification(where, len(chosen), rows, counted, tuple(different))


def _sample(job: Job, store: FolderStore, units: int, draw: random.Random) -> Iterator[tuple[CellGroup, str, int]]:
    """Stored units, measure by measure in turn, so that no measure hides behind a larger one."""
    waiting: list[list[tuple[CellGroup, str, int]]] = []
    for assignment in job.assignments.values():
        cells = [
            (group, name, store.done(cell))
            for images in assignment.axis("images")
            for group in groups(job, assignment, images)
            for name, cell in group.cells.items()
        ]
        there = [(group, name, spans) for group, name, spans in cells if spans]
        found = []
        for _ in range(units if there else 0):
            group, name, spans = draw.choice(there)
            span = draw.choice(spans)
            found.append((group, name, draw.randrange(span.first, span.end)))
        unlike = {(group.cells[name], unit): (group, name, unit) for group, name, unit in found}
        waiting.append(list(unlike.values()))
    while units > 0 and any(waiting):
        for each in waiting:
            if each and units > 0:
                units -= 1
                yield each.pop()


def _stored(store: FolderStore, cell: Cell, span: Span) -> Tables:
    parts = [tables for _, tables in whole_tables(store, cell, span)]
    return {name: together([each[name] for each in parts if name in each]) for name in parts[0]}


def _computed(job: Job, store: FolderStore, worker: Worker, group: CellGroup, name: str, span: Span) -> Tables:
    one, cell = group.only([name]), group.cells[name]
    given = {name: read_rows(job, store, cell, *image_range(group.plan[span.first : span.end]))}
    return worker.collect(cell, worker.compute(one, span, given), name)


def _differences(before: Tables, after: Tables) -> Iterator[tuple[str, str]]:
    """Tables that differ, and how."""
    for name in sorted(before.keys() | after.keys()):
        if name not in before or name not in after:
            rows = (before if name in before else after)[name].num_rows
            what = f"only the {'first' if name in before else 'second'} has such a table" if rows else ""
        else:
            what = row_difference(before[name], after[name])
        if what:
            yield name, what
