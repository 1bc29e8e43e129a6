"""Rows from before a run was extended, in today's numbering: what is known of a unit, and what is missing.

A row is known by its image and by the columns that say where on its measure's axis it lies, whatever unit it was
computed in. More images or places thus leave it as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from brittle.engine.job import CellLayout, Job
from brittle.engine.plan.missing import joined_spans
from brittle.engine.store.unit_store import Store, by_unit
from brittle.errors import BrittleError
from brittle.measures.base import Cell, Tables, together
from brittle.measures.plan import Columns, Span, Unit

Places = NDArray[np.int64]  # −1 where there is none


class KnownPart(NamedTuple):
    """Some rows of a table, and where they belong."""

    table: pa.Table
    images: Places  # in planned order
    places: Places  # on the axis


class KnownRows:
    """What is known of one cell."""

    def __init__(self, now: CellLayout) -> None:
        self.now = now
        self.ids = now.about.subject.ids
        self._order = np.argsort(self.ids, kind="stable")
        size = max((unit.axis.stop for unit in now.plan), default=0)
        self._ranges = {unit.axis for unit in now.plan}
        self.done = np.zeros((len(self.ids), size), bool)
        self._parts: dict[str, list[KnownPart]] = {}
        self._units: dict[int, Tables] = {}  # where rows are used again unit by unit
        self.fits = True  # whether all of it has a place in today's plan

    def add(self, before: CellLayout, span: Span, tables: Tables) -> None:
        """Takes in some units of an earlier plan."""
        if self.now.plan.columns is None or before.plan.columns is None:
            self._add_units(before, span, tables)
            return
        units = before.plan[span.first : span.end]
        old_images, to = (
            self._images(before.about.subject.ids),
            self._axis(before.plan.columns, len(self.done[0]) if len(self.done) else 0),
        )
        for name, table in tables.items():
            self._add_table(name, table, self._row_places(table, units, span))
        for unit in units:
            there, places = old_images[np.asarray(unit.images, np.int64)], self._of_unit(unit, to)
            self.fits &= bool((there >= 0).all() and (places >= 0).all())
            self.done[np.ix_(there[there >= 0], places[places >= 0])] = True

    def missing(self, number: int) -> list[Unit]:
        """The parts of a unit that are not known."""
        unit = self.now.plan[number]
        if self.now.plan.columns is None or not len(unit.images):
            return [] if number in self._units else [unit]
        images = np.asarray(unit.images)
        lacking = ~self.done[images, unit.axis.start : unit.axis.stop]
        if lacking.all():
            return [unit]
        patterns, kind = np.unique(lacking, axis=0, return_inverse=True)
        return [
            Unit(tuple(images[kind.ravel() == place].tolist()), range(unit.axis.start + first, unit.axis.start + end))
            for place, pattern in enumerate(patterns)
            for first, end in _runs(pattern)
        ]

    def completed(self, span: Span, computed: Tables) -> Tables:
        """Tables of some units: what is known, and what was computed of the rest, in planned order."""
        known = [self._known(number) for number in range(*span)]
        names = dict.fromkeys(name for tables in (computed, *known) for name in tables)
        return {name: self._ordered([each[name] for each in (*known, computed) if name in each]) for name in names}

    def covered_by(self, done: Sequence[Span]) -> bool:
        """Whether finished units hold all that is known."""
        held = np.zeros_like(self.done)
        for span in done:
            for unit in self.now.plan[span.first : span.end]:
                held[np.ix_(np.asarray(unit.images, np.int64), np.asarray(unit.axis))] = True
        units = {number for span in joined_spans(done) for number in range(*span)}
        return self.fits and not (self.done & ~held).any() and self._units.keys() <= units

    def _add_units(self, before: CellLayout, span: Span, tables: Tables) -> None:
        """Units that are the same in both plans."""
        now = {_content(unit, self.ids): number for number, unit in enumerate(self.now.plan)}
        old_ids = before.about.subject.ids
        for tables_of_one in zip(*(by_unit(span, table) for table in tables.values()), strict=True):
            number = now.get(_content(before.plan[tables_of_one[0][0]], old_ids))
            self.fits &= number is not None
            if number is not None:
                self._units[number] = {
                    name: _numbered(table, number) for name, (_, table) in zip(tables, tables_of_one, strict=True)
                }

    def _add_table(self, name: str, table: pa.Table, places: Places) -> None:
        images = self._images(table["image"].to_numpy())
        new = (images >= 0) & (places >= 0)
        new[new] = ~self.done[images[new], places[new]]
        self._parts.setdefault(name, []).append(KnownPart(table.filter(pa.array(new)), images[new], places[new]))

    def _row_places(self, table: pa.Table, units: Sequence[Unit], span: Span) -> Places:
        """Where on the axis rows (n,) lie; of a table that says less than `rows`, the first place that it may be."""
        axis = self.now.plan.columns
        if axis:
            columns = {name: table[name].to_numpy() for name in axis if name in table.column_names}
            return self._axis(columns, table.num_rows)
        starts = np.array([unit.axis.start if unit.axis in self._ranges else -1 for unit in units], np.int64)
        return np.asarray(starts[table["unit"].to_numpy() - span.first])

    def _of_unit(self, unit: Unit, to: Places) -> Places:
        if self.now.plan.columns:
            return np.asarray(to[np.asarray(unit.axis)])
        return np.asarray(unit.axis) if unit.axis in self._ranges else np.full(1, -1)

    def _axis(self, columns: Columns, count: int) -> Places:
        """The first place on today's axis with these values."""
        axis = self.now.plan.columns
        if not axis or not columns:
            return np.zeros(count, np.int64)
        own, theirs = np.zeros(len(next(iter(axis.values()))), np.int64), np.zeros(1, np.int64)
        for name, values in columns.items():
            radix = 1 + max(int(axis[name].max(initial=0)), int(values.max(initial=0)))
            own, theirs = own * radix + axis[name], theirs * radix + values
        keys, first = np.unique(own, return_index=True)
        at = np.minimum(np.searchsorted(keys, theirs), len(keys) - 1)
        return np.where(keys[at] == theirs, first[at], -1)

    def _images(self, ids: NDArray[np.int64]) -> Places:
        """Places of images in planned order."""
        if not len(self.ids):
            return np.full(len(ids), -1, np.int64)
        at = np.minimum(np.searchsorted(self.ids, ids, sorter=self._order), len(self.ids) - 1)
        return np.where(self.ids[self._order[at]] == ids, self._order[at], -1)

    def _known(self, number: int) -> Tables:
        unit = self.now.plan[number]
        if self.now.plan.columns is None or not len(unit.images):
            return self._units.get(number, {})
        found = {}
        for name in self._parts:
            part = self._sorted(name)
            first, end = np.searchsorted(part.images, (min(unit.images), max(unit.images) + 1))
            here = slice(int(first), int(end))
            own = (part.places[here] >= unit.axis.start) & (part.places[here] < unit.axis.stop)
            if isinstance(unit.images, tuple):
                own &= np.isin(part.images[here], unit.images)
            found[name] = _numbered(part.table.slice(here.start, here.stop - here.start).filter(pa.array(own)), number)
        return found

    def _sorted(self, name: str) -> KnownPart:
        """All rows of a table as one part, by image and place."""
        parts = self._parts[name]
        if len(parts) > 1 or not (np.diff(parts[0].images) >= 0).all():
            images, places = (np.concatenate(each) for each in list(zip(*parts, strict=True))[1:])
            order = np.lexsort((places, images))
            table = together([part.table for part in parts]).take(pa.array(order))
            self._parts[name] = [KnownPart(table, images[order], places[order])]
        return self._parts[name][0]

    def _ordered(self, parts: Sequence[pa.Table]) -> pa.Table:
        table = together(parts)
        keys = [table["unit"].to_numpy()]
        if "image" in table.column_names and self.now.plan.columns is not None:
            columns = {name: table[name].to_numpy() for name in self.now.plan.columns if name in table.column_names}
            keys = [self._axis(columns, table.num_rows), self._images(table["image"].to_numpy()), *keys]
        return table.take(pa.array(np.lexsort(keys)))


def known_rows(job: Job, store: Store, cell: Cell) -> KnownRows | None:
    """What was known of a cell before its run was extended; None where there is nothing of the kind."""
    found = None
    for extent, span, tables in store.earlier(cell):
        found = found or KnownRows(job.layout(cell, job.extent(cell)))
        try:
            before = job.layout(cell, extent)
        except (BrittleError, ValueError, KeyError, TypeError):  # nothing that a run of this study could have had
            continue
        if span.end <= len(before.plan):
            found.add(before, span, tables)
    return found


def same_units(now: CellLayout, before: CellLayout) -> bool:
    """Whether every unit of an earlier plan is one of today's."""
    there, old_ids = {_content(unit, now.about.subject.ids) for unit in now.plan}, before.about.subject.ids
    return all(_content(unit, old_ids) in there for unit in before.plan)


def _content(unit: Unit, ids: NDArray[np.int64]) -> tuple[bytes, range]:
    return ids[np.asarray(unit.images, np.int64)].tobytes(), unit.axis


def _numbered(table: pa.Table, unit: int) -> pa.Table:
    numbers = pa.array(np.full(table.num_rows, unit), table.schema.field("unit").type)
    return table.set_column(0, "unit", numbers)


def _runs(pattern: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Where stretches of True begin and end."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], pattern, [False])).astype(np.int8)))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
