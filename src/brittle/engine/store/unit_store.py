"""Where finished units live: in a run folder that survives `kill -9` at any moment.

A file holds one table of a range of consecutive units of one cell, in planned order, and says so in its metadata. It is
written under another name, flushed, then renamed, and in an object store put at once; a unit's `rows`, which name its
other tables, come last: where they are, the unit is done. Any number of processes may write; only one, the driver,
compacts: neighbouring files are merged, so that a million units are not a million files.
"""

from __future__ import annotations

import functools
import itertools
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from brittle.engine.store import merges
from brittle.engine.store.checked_files import CheckedFiles, UnitFile
from brittle.engine.store.earlier_units import EarlierUnits, earlier_units, put_aside, remove_earlier
from brittle.engine.store.folder_names import UNSAFE, UNSAFE_BEFORE, safe_name
from brittle.engine.store.place import Place, place_of
from brittle.engine.store.unit_file import encoded
from brittle.errors import BrittleError, Failure
from brittle.measures.base import ROWS, Cell, Tables, together
from brittle.measures.plan import Span

MERGED_MEANWHILE = 20  # times that a file may have gone when it is opened
TABLE_NAME = re.compile(r"[a-z0-9_]+")
_NAME = re.compile(rf"(\d{{9}})-(\d{{9}})\.({TABLE_NAME.pattern})\.parquet")
_HALF_WRITTEN = re.compile(_NAME.pattern + r"\.\d+\.tmp")


class Store(Protocol):
    """Tables of units, by cell."""

    def done(self, cell: Cell) -> list[Span]:
        """What is finished, in order, without overlap."""
        ...

    def write(self, cell: Cell, span: Span, tables: Tables) -> None: ...

    def read(self, cell: Cell, span: Span | None = None, table: str = ROWS) -> Iterator[tuple[Span, pa.Table]]:
        """Finished units of a span, all by default, in planned order; those without such a table are left out."""
        ...

    def tables(self, cell: Cell) -> set[str]:
        """The names of a cell's tables."""
        ...

    def compact(self, cell: Cell, *, finished: bool = False) -> None:
        """Merges what lies together; of a finished cell, all of it."""
        ...

    def earlier(self, cell: Cell) -> Iterator[EarlierUnits]:
        """What was finished before the run was extended, and has not been removed since."""
        ...

    def remove_earlier(self, cell: Cell) -> None: ...

    def refresh(self, cell: Cell | None = None) -> None:
        """Looks afresh at what others have written of a cell, or of all of them, where that is remembered."""
        ...


class FileMerger:
    """The driver's part of storing: told of what was written, merges now and then, so that files stay few."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._written: Counter[Cell] = Counter()

    def after_write(self, cell: Cell) -> None:
        self._written[cell] += 1
        if self._written[cell] % merges.FAN == 0:
            self.store.refresh(cell)
            self.store.compact(cell)


class FolderStore:
    """Parquet files under `folder/measure/classifier/images/nuisance/`. `depends` tells the hash of what a cell's rows
    depend on, and `extent` which rows there are, which decides how units are numbered; every file carries both. Files
    of another extent are put aside."""

    def __init__(
        self,
        folder: Path | Place,
        depends: Callable[[Cell], str],
        extent: Callable[[Cell], str] = lambda _: "",
        allowed: Callable[[], None] = lambda: None,
    ) -> None:
        """`allowed` raises where this process may not merge or remove anything any more."""
        self.folder, self.depends, self.extent, self._allowed = place_of(folder), depends, extent, allowed
        self.disk = self.folder.files()
        self._checked = CheckedFiles(self.disk, depends, extent)
        self._places: dict[Cell, str] = {}
        self._lock = threading.RLock()  # the thread that merges and the one that reads

    def done(self, cell: Cell) -> list[Span]:
        return [file.span for file in self._files(cell)]

    def write(self, cell: Cell, span: Span, tables: Tables) -> None:
        for name in sorted(tables, key=lambda each: each == ROWS):
            about = {"cell": list(cell), "first": span.first, "end": span.end, "table": name}
            about |= {"rows": tables[name].num_rows, "depends": self.depends(cell), "extent": self.extent(cell)}
            if name == ROWS:
                about |= {"tables": sorted(tables), "bytes": sum(each.nbytes for each in tables.values())}
            path = self._path(cell, span, name)
            self.disk.commit(path, encoded(tables[name], about))
            self._checked.note(path, about)

    def read(self, cell: Cell, span: Span | None = None, table: str = ROWS) -> Iterator[tuple[Span, pa.Table]]:
        at, end = (0, None) if span is None else span
        if span is not None and self.folder.remote and gaps(self.done(cell), span):
            self.refresh(cell)
        gone = 0
        while True:
            try:
                for found in self._stored(cell, at, end, table):
                    yield found
                    at, gone = found[0].end, 0
                return
            except FileNotFoundError:  # another process has merged files meanwhile: they are looked for again
                self.refresh(cell)
                if (gone := gone + 1) == MERGED_MEANWHILE:
                    break
        raise Failure(
            f"files of {self.disk.shown(self._place(cell))} are missing",
            "Give the run command again: what is missing is computed again.",
        )

    def _stored(self, cell: Cell, at: int, end: int | None, table: str) -> Iterator[tuple[Span, pa.Table]]:
        """Finished units from `at` on, file by file."""
        with self._lock:
            files = self._files(cell)
        for file in files:
            here = Span(max(at, file.span.first), file.span.end if end is None else min(end, file.span.end))
            if here.first >= here.end:
                continue
            with self._lock:
                has_table = table == ROWS or table in self._checked.tables(cell, file)
            if has_table:  # read outside of the lock: several threads read at a time
                part = UnitFile(file.span, table, self._path(cell, file.span, table))
                yield cut(file.span, self._checked.read(cell, part, here), here)

    def verify(self, cell: Cell) -> list[str]:
        """Removes what is damaged or incomplete, so that it is done again, and says which files those were; refuses
        what is not this cell's, and folders that lead elsewhere. What a kill left behind goes too: half-written files,
        and files that a merge had no time to remove."""
        removed: list[str] = []
        for file in self._all(cell):
            put_aside(self.disk, file.path, self.depends(cell), self.extent(cell))
        while damaged := [file.path for file in self._all(cell) if not self._is_whole(cell, file)]:
            for path in damaged:
                self._remove(path)
            removed += map(self.disk.shown, damaged)
        self._remove_merged(cell)
        for name in filter(_HALF_WRITTEN.fullmatch, self.disk.names(self._place(cell))):
            self._remove(f"{self._place(cell)}/{name}")
        return removed

    def _remove_merged(self, cell: Cell) -> None:
        """Removes files whose units are in another one, and tables that no rows name."""
        there, files = self.disk.names(self._place(cell)), self._files(cell)
        kept = {self._path(cell, file.span, name) for file in files for name in self._checked.tables(cell, file)}
        for path in (f"{self._place(cell)}/{name}" for name in there if _NAME.fullmatch(name)):
            if path not in kept:
                self._remove(path)

    def earlier(self, cell: Cell) -> Iterator[EarlierUnits]:
        self._refuse_links(self._place(cell))
        return earlier_units(self.disk, self._place(cell), self.depends(cell))

    def remove_earlier(self, cell: Cell) -> None:
        self._refuse_links(self._place(cell))
        remove_earlier(self.disk, self._place(cell))

    def refresh(self, cell: Cell | None = None) -> None:
        self.disk.refresh(None if cell is None else self._place(cell))

    def compact(self, cell: Cell, *, finished: bool = False) -> None:
        """Merges FAN neighbours of one size wherever they lie together, and again while that makes FAN of the next
        size; of a finished cell everything that lies together. Only one process may do so at a time."""
        with self._lock:
            about = {file.span: self._checked.about(cell, file) for file in self._files(cell)}
            files = [merges.SizedSpan(span, each["rows"], each.get("bytes", 0)) for span, each in about.items()]
            for run in merges.when_finished(files) if finished else merges.by_size(files):
                self._merge(cell, run)
            if finished:  # a disk may have failed to remove some, for a while
                self._remove_merged(cell)

    def _merge(self, cell: Cell, run: Sequence[Span]) -> None:
        """One file per table in the place of many; their `rows` are removed before the tables that they name."""
        self._allowed()
        parts: dict[str, list[UnitFile]] = {}
        for span in run:
            for name in self._checked.tables(cell, UnitFile(span, ROWS, self._path(cell, span, ROWS))):
                parts.setdefault(name, []).append(UnitFile(span, name, self._path(cell, span, name)))
        tables = {name: together([self._checked.read(cell, file) for file in files]) for name, files in parts.items()}
        self.write(cell, Span(run[0].first, run[-1].end), tables)
        for name in sorted(parts, key=lambda each: each != ROWS):
            for file in parts[name]:
                self._remove(file.path)

    def _place(self, cell: Cell) -> str:
        if cell not in self._places:
            here, before = (
                "/".join((self.folder.inside, *(safe_name(part, unsafe) for part in cell if part)))
                for unsafe in (UNSAFE, UNSAFE_BEFORE)
            )
            kept = here != before and self.disk.names(before) and not self.disk.names(here)
            self._places[cell] = before if kept else here
        return self._places[cell]

    def _path(self, cell: Cell, span: Span, table: str) -> str:
        return f"{self._place(cell)}/{span.first:09d}-{span.end:09d}.{table}.parquet"

    def places(self) -> list[str]:
        """Every folder that holds unit files, whatever cell it is of."""
        folders = self.disk.folders(self.folder.inside)
        return [each for each in folders if any(map(_NAME.fullmatch, self.disk.names(each)))]

    def _all(self, cell: Cell) -> list[UnitFile]:
        place = self._place(cell)
        self._refuse_links(place)
        found = (_unit_file(place, name) for name in self.disk.names(place))
        return sorted(filter(None, found), key=lambda file: (file.span.first, -file.span.end))

    def _refuse_links(self, place: str) -> None:
        """What lies behind a link in a run folder is not the run's, to be read, merged or removed."""
        root = self.folder.inside
        inside = itertools.accumulate(place[len(root) :].split("/"), lambda above, name: f"{above}/{name}")
        link = next((each for each in (root + below for below in inside) if self.disk.is_link(each)), None)
        if link is not None:
            raise BrittleError(
                f"{link} is a symbolic link, which is not followed inside a run folder",
                "Put the folder itself there, or run into another folder.",
            )

    def tables(self, cell: Cell) -> set[str]:
        return {file.table for file in self._all(cell)}

    def _files(self, cell: Cell) -> list[UnitFile]:
        """Files of rows in order: one that lies inside another is what a merge had no time to remove."""
        kept: list[UnitFile] = []
        for file in self._all(cell):
            if file.table == ROWS and (not kept or file.span.first >= kept[-1].span.end):
                kept.append(file)
        return kept

    def _remove(self, path: str) -> None:
        self._allowed()
        self._checked.forget(path)
        self.disk.remove(path)

    def _is_whole(self, cell: Cell, file: UnitFile) -> bool:
        """Whether a file, and every table that its rows name, is there as it was written."""
        if not self._checked.is_whole(cell, file):
            return False
        names = self._checked.tables(cell, file) if file.table == ROWS else ()
        return all(self.disk.is_file(self._path(cell, file.span, name)) for name in names)


@functools.lru_cache(maxsize=1 << 15)
def _unit_file(place: str, name: str) -> UnitFile | None:
    """What a name in a cell's folder says; None of other files. The same names are listed again and again."""
    match = _NAME.fullmatch(name)
    return match and UnitFile(Span(int(match[1]), int(match[2])), match[3], f"{place}/{name}")


def cut(here: Span, table: pa.Table, span: Span | None) -> tuple[Span, pa.Table]:
    """Of the units `here` those that lie in a span, with their rows."""
    if span is None or (span.first <= here.first and here.end <= span.end):
        return here, table
    part = Span(max(here.first, span.first), min(here.end, span.end))
    units = table["unit"].to_numpy()
    first, end = np.searchsorted(units, [part.first, part.end])
    return part, table.slice(first, end - first)


def by_unit(span: Span, table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """A span's table unit by unit; a unit may have no rows."""
    ends = np.searchsorted(table["unit"].to_numpy(), np.arange(span.first, span.end + 1))
    for place, (start, end) in enumerate(itertools.pairwise(ends.tolist()), span.first):
        yield place, table.slice(start, end - start)


def whole_tables(store: Store, cell: Cell, span: Span | None = None) -> Iterator[tuple[Span, Tables]]:
    """Finished units with all their tables, in planned order."""
    others = store.tables(cell) - {ROWS}
    for here, rows in store.read(cell, span):
        beside = {name: [each for _, each in store.read(cell, here, name)] for name in others}
        yield here, {ROWS: rows} | {name: together(parts) for name, parts in beside.items() if parts}


def gaps(done: Sequence[Span], span: Span) -> list[Span]:
    """The parts of `span` that are not done, in order."""
    found, at = [], span.first
    for have in done:
        if have.end <= at or have.first >= span.end:
            continue
        if have.first > at:
            found.append(Span(at, have.first))
        at = have.end
    if at < span.end:
        found.append(Span(at, span.end))
    return found
