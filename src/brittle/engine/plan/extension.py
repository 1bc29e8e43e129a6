"""How a run goes on when it is extended: finished rows are used where they belong, and only the rest is computed."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from brittle.engine.job import Job, can_stop
from brittle.engine.plan.known_rows import KnownRows, known_rows, same_units
from brittle.engine.plan.missing import CellGroup
from brittle.engine.store.place import Place
from brittle.engine.store.unit_store import Store
from brittle.errors import BrittleError
from brittle.measures.base import Cell, Tables
from brittle.measures.plan import Span, Unit
from brittle.registry import extending

CELLS_KEPT = 16  # whose earlier rows are in memory
Wanted = Mapping[int, list[Unit]]  # by the number of a unit, the parts of it that are to be computed
REMEDY = "Undo the change, or run into another folder (a run may be extended, but what was computed stays)."


class Extension:
    """What a run's cells have from before it was extended, read when it is wanted."""

    def __init__(self, job: Job, store: Store) -> None:
        self.job, self.store = job, store
        self._known: OrderedDict[Cell, KnownRows | None] = OrderedDict()
        self._lock = threading.Lock()  # one thread computes, another stores

    def split(self, group: CellGroup, span: Span) -> Iterator[tuple[CellGroup, Wanted | None]]:
        """A group as groups of cells that lack the same parts of some units, and these; None for all of them."""
        alike: dict[Any, tuple[list[str], Wanted | None]] = {}
        for name, cell in group.cells.items():
            known = self._of(cell)
            wanted: Wanted | None = (
                None if known is None else {number: known.missing(number) for number in range(*span)}
            )
            key = None if wanted is None else tuple(map(tuple, wanted.values()))
            alike.setdefault(key, ([], wanted))[0].append(name)
        for names, wanted in alike.values():
            yield group.only(names), wanted

    def completed(self, cell: Cell, span: Span, computed: Tables) -> Tables:
        """What was computed of some units, with what was known of them."""
        known = self._of(cell)
        return computed if known is None else known.completed(span, computed)

    def remove_used_rows(self) -> None:
        """Removes what was put aside, cell by cell, where finished units hold all of it."""
        for assignment in self.job.assignments.values():
            for cell in assignment.cells():
                known = self._of(cell)
                if known is not None and known.covered_by(self.store.done(cell)):
                    self.store.remove_earlier(cell)

    def _of(self, cell: Cell) -> KnownRows | None:
        with self._lock:
            if cell not in self._known:
                self._known[cell] = known_rows(self.job, self.store, cell)
            self._known.move_to_end(cell)
            while len(self._known) > CELLS_KEPT:
                self._known.popitem(last=False)
            return self._known[cell]


def refuse_other_rows(job: Job, kept: Mapping[str, Any], counts: Mapping[str, int], run: Place) -> None:
    """Refuses an extension that would change rows of the `kept` study, whose image sets had `counts` images: those of
    measures that look at several images or places together, or that read what is extended."""
    for name, assignment in job.assignments.items():
        for cell in assignment.cells() if name in kept["measures"] else ():
            before = _kept_extent(job, cell, kept, counts)
            if before is not None and before != job.extent(cell):
                now, then = (job.layout(cell, each) for each in (job.extent(cell), before))
                if (now.plan.columns is None or then.plan.columns is None) and not same_units(now, then):
                    raise _refusal(name, before, job.extent(cell), run)
            for read in assignment.measure.reads:
                other = assignment.reads.get(read.kind, "")
                if read.rows and other in kept["measures"] and len(job.plan(cell)):
                    _refuse_other_reads(job, cell, other, kept, run)


def _refuse_other_reads(job: Job, reader: Cell, name: str, kept: Mapping[str, Any], run: Place) -> None:
    measure, options = job.assignments[name].measure, _options(job, name, kept)
    names = extending(type(measure))
    then = replace(measure, **{names[key]: value for key, value in options.items()})  # type: ignore[type-var]
    about = job.about(job.assignments[name].cell(*reader[1:]))
    if then != measure and not (can_stop(then, about) and can_stop(measure, about)):
        now = {key: getattr(measure, field) for key, field in names.items()}
        raise _refusal(reader.measure, json.dumps({"options": options}), json.dumps({"options": now}), run, name)


def _options(job: Job, name: str, kept: Mapping[str, Any]) -> dict[str, Any]:
    return {key: kept["measures"][name].get(key) for key in extending(type(job.assignments[name].measure))}


def _kept_extent(job: Job, cell: Cell, kept: Mapping[str, Any], counts: Mapping[str, int]) -> str | None:
    if cell.images and cell.images not in counts:
        return None
    options = _options(job, cell.measure, kept)
    return json.dumps({"images": counts.get(cell.images), "options": options}, sort_keys=True)


def _refusal(name: str, before: str, now: str, run: Place, read: str = "") -> BrittleError:
    old, new = json.loads(before), json.loads(now)
    changed = [f"{key}: {value} → {new['options'][key]}" for key, value in old["options"].items()
               if value != new["options"][key]]  # fmt: skip
    if old.get("images") != new.get("images"):
        changed.append(f"images: {old['images']} → {new['images']}")
    return BrittleError(
        f"the study has changed since the run in {run} began ({read or name}: {'; '.join(changed)}), and rows of "
        f"{name!r} depend on that",
        REMEDY,
    )
