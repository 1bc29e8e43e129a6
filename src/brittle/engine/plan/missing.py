"""What is done and what is missing of a job's cells: the one place where work is planned."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from brittle.engine.job import Job
from brittle.engine.plan.assignments import Assignment
from brittle.engine.store.unit_store import Store, gaps
from brittle.measures.base import CLASSIFIER, IMAGES, Cell
from brittle.measures.plan import Plan, Span, Unit, covering
from brittle.progress import Progress

BATCHES_PER_SPAN = 4
MORE = 4  # times as many, if the last batch is not full before
SPARE = 0.01  # of all that is computed may be padding
IMAGES_KEPT = 1 << 30  # bytes of images kept on the device between spans


class CellGroup(NamedTuple):
    """Cells that differ in their classifier alone, with equal plans: T_θ x is computed once for all of them. Where a
    nuisance reads what differs by classifier, there is only one."""

    assignment: Assignment
    images: str
    nuisance: str
    cells: Mapping[str, Cell]  # by classifier; "" where the measure takes none
    plan: Plan

    @property
    def any_cell(self) -> Cell:
        return next(iter(self.cells.values()))

    def only(self, classifiers: Iterable[str]) -> CellGroup:
        return self._replace(cells={name: self.cells[name] for name in classifiers})


def groups(job: Job, assignment: Assignment, images: str) -> Iterator[CellGroup]:
    """The groups of a measure on one image set, nuisance by nuisance."""
    for nuisance in assignment.nuisances_on(images):
        alike: list[CellGroup] = []
        for name in assignment.axis(CLASSIFIER):
            cell = assignment.cell(name, images, nuisance)
            plan = job.plan(cell)
            same = (place for place, each in enumerate(alike) if each.plan == plan)
            place = None if job.needs(nuisance) else next(same, None)
            if place is None:
                alike.append(CellGroup(assignment, images, nuisance, {name: cell}, plan))
            else:
                alike[place] = alike[place]._replace(cells={**alike[place].cells, name: cell})
        yield from (group for group in alike if len(group.plan))


def spans(
    plan: Sequence[Unit], calls: Callable[[Unit], int], batch: int, *, end_with_rounds: bool = False
) -> Iterator[Span]:
    """Neighbouring units whose calls fill a few batches, and the last of these as far as may be. A span over several
    rounds holds the whole set: where that is too large, spans `end_with_rounds`."""
    first, filled, before = 0, 0, -1
    for place, unit in enumerate(plan):
        at = unit.images[0] if len(unit.images) else 0
        if place > first and (_fills(filled, batch) or (end_with_rounds and at < before)):
            yield Span(first, place)
            first, filled = place, 0
        filled += max(1, calls(unit))
        before = at
    if len(plan):
        yield Span(first, len(plan))


def _fills(calls: int, batch: int) -> bool:
    """Whether so many calls are enough for a span. Batches of compiled graphs are padded, and of small networks too a
    part of a batch takes nearly as long as a whole one."""
    enough, spare = BATCHES_PER_SPAN * batch, -calls % batch
    return calls >= enough and (spare <= SPARE * calls or calls >= MORE * enough)


def asked_groups(job: Job) -> list[CellGroup]:
    """All that is carried out whole, since the study asks for it or a measure reads it so: image set by image set, then
    what looks at no image; readers after what they read."""
    whole, found = cells_needed_in_full(job), []
    sets = dict.fromkeys(name for each in job.assignments.values() for name in each.axis(IMAGES) if name)
    for images in (*sets, ""):
        for assignment in job.assignments.values():
            for group in groups(job, assignment, images) if images in assignment.axis(IMAGES) else ():
                wanted = [name for name, cell in group.cells.items() if assignment.asked or cell in whole]
                found += [group.only(wanted)] if wanted else []
    return found


def cells_needed_in_full(job: Job) -> set[Cell]:
    """Cells that only another measure needs, in full: a measure that derives everything from others, or one
    whose cells do not say which of another's cells they mean."""
    found: set[Cell] = set()
    for reader in reversed(list(job.assignments.values())):
        for cell in (*reader.cells(), *reader.bare_cells()):
            if reader.asked or cell in found:
                given = job.reads(cell) if len(job.plan(cell)) else {}
                others = (job.assignments[name] for kind, name in reader.reads.items() if kind not in given)
                unasked = (each for other in others if not other.asked for each in other.cells())
                found.update(each for each in unasked if reader.may_read(cell, each))
    return found


def group_title(job: Job, group: CellGroup) -> str:
    """What is being computed, for whoever watches; the measure's name only where there are several."""
    several = sum(each.asked for each in job.assignments.values()) > 1
    return " · ".join(filter(None, (group.images, group.nuisance, group.assignment.name if several else "")))


def compact_all(job: Job, store: Store) -> None:
    """Merges what lies together in every cell, once all writing has ended."""
    store.refresh()
    for assignment in job.assignments.values():
        for cell in assignment.cells():
            store.compact(cell, finished=True)


def start_counting(job: Job, progress: Progress) -> None:
    """Tells how much there is to do: images shown to classifiers or, where none is asked, passes of other networks."""
    every = asked_groups(job)
    if every and not any(CLASSIFIER in group.assignment.measure.over for group in every):
        progress.counts("passes")
    progress.start(sum(map(planned_calls, every)))


def planned_calls(group: CellGroup) -> int:
    return sum(map(group.assignment.measure.calls, group.plan)) * len(group.cells)


def spans_of(job: Job, group: CellGroup, batch: int) -> list[Span]:
    """A group's plan in pieces of work."""
    too_large = False
    if group.images:
        images = job.images[group.images].images
        too_large = len(images) * 4 * math.prod(images.shape) > IMAGES_KEPT
    return list(spans(group.plan, group.assignment.measure.calls, batch, end_with_rounds=too_large))


def spans_read(plan: Plan, cell: Cell, first: int, end: int) -> list[Span]:
    """The units of a cell that a reader of the images [first, end) is given: all where the cell has no images."""
    return covering(plan, first, end) if cell.images else [Span(0, len(plan))]


def image_range(units: Sequence[Unit]) -> tuple[int, int]:
    """The images [first, end) that some units hold, and perhaps others between."""
    ends = [_ends(unit.images) for unit in units if len(unit.images)]
    return (min(first for first, _ in ends), max(last for _, last in ends) + 1) if ends else (0, 0)


def _ends(places: Sequence[int]) -> tuple[int, int]:
    return (places[0], places[-1]) if isinstance(places, range) else (min(places), max(places))


@dataclass
class DoneUnits:
    """Which units are done, read once from the store and kept up to date."""

    job: Job
    store: Store
    _done: dict[Cell, list[Span]] = field(default_factory=dict)

    def done(self, cell: Cell) -> list[Span]:
        if cell not in self._done:
            self._done[cell] = joined_spans(self.store.done(cell))
        return self._done[cell]

    def add(self, cell: Cell, span: Span) -> None:
        done = self.done(cell)
        near = _touching(done, span)
        done[near] = joined_spans([*done[near], span])

    def reload(self, cell: Cell) -> None:
        """Adds what others have stored since."""
        self.store.refresh(cell)
        self._done[cell] = joined_spans([*self.done(cell), *self.store.done(cell)])

    def missing(self, group: CellGroup, span: Span) -> dict[Span, list[str]]:
        """The stretches of a span that are not done, and which classifiers lack each."""
        found: dict[Span, list[str]] = {}
        for name, cell in group.cells.items():
            done = self.done(cell)
            for gap in gaps(done[_touching(done, span)], span):
                found.setdefault(gap, []).append(name)
        return found

    def needed(self, group: CellGroup, span: Span) -> Iterator[tuple[CellGroup, Span]]:
        """The units of other measures that must be done before a span, because the group's measure reads them."""
        first, end = image_range(group.plan[span.first : span.end])
        reading: dict[Cell, dict[str, Cell]] = {}
        for name, cell in group.cells.items():
            for read in self.job.reads(cell).values():
                reading.setdefault(read._replace(classifier=""), {})[name if read.classifier else ""] = read
        for cells in reading.values():
            for other in self._groups_of_equal_plans(cells):
                for part in spans_read(other.plan, other.any_cell, first, end):
                    yield other, part

    def _groups_of_equal_plans(self, cells: Mapping[str, Cell]) -> Iterator[CellGroup]:
        """Cells of one measure as groups of equal plans."""
        assignment = self.job.assignments[next(iter(cells.values())).measure]
        left = dict(cells)
        while left:
            first, some = next(iter(left.items()))
            plan = self.job.plan(some)
            alike = {name: cell for name, cell in left.items() if self.job.plan(cell) == plan}
            if self.job.needs(some.nuisance):
                alike = {first: some}
            yield CellGroup(assignment, some.images, some.nuisance, alike, plan)
            left = {name: cell for name, cell in left.items() if name not in alike}


def _touching(done: Sequence[Span], span: Span) -> slice:
    """Where among joined spans those are that overlap or touch one."""
    first = bisect.bisect_left(done, span.first, key=lambda each: each.end)
    return slice(first, bisect.bisect_right(done, span.end, lo=first, key=lambda each: each.first))


def joined_spans(spans_there: Iterable[Span]) -> list[Span]:
    """In order, those that touch as one."""
    found: list[Span] = []
    for span in sorted(spans_there):
        if found and span.first <= found[-1].end:
            found[-1] = Span(found[-1].first, max(found[-1].end, span.end))
        else:
            found.append(span)
    return found
