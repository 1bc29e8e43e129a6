"""Where finished units live: in memory, or in a run folder that survives `kill -9` at any moment.

A file holds one table of a range of consecutive units of one cell, in planned order, and says so in its metadata. It is
written under another name, flushed, then renamed; a unit's `rows` come last: where they are, the unit is done. Any
number of processes may write; only one, the driver, compacts: neighbouring files are merged, so that a million units
are not a million files.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from brittle.errors import BrittleError, Failure
from brittle.files import write_durably
from brittle.measures.base import ROWS, Cell, Tables
from brittle.measures.plan import Span

FAN = 16  # this many neighbours of one size become one file
LARGEST = 1 << 22  # rows in a merged file
ROW_GROUP = 1 << 16
CACHED = 1 << 26  # bytes of the last files read that are kept
MERGED_MEANWHILE = 20  # times that a file may have gone when it is opened
KEY = b"brittle"
_NAME = re.compile(r"(\d{9})-(\d{9})\.([a-z0-9_]+)\.parquet")


class Store(Protocol):
    """Tables of units, by cell."""

    def done(self, cell: Cell) -> list[Span]:
        """What is finished, in order, without overlap."""
        ...

    def write(self, cell: Cell, span: Span, tables: Tables) -> None: ...

    def read(self, cell: Cell, span: Span | None = None, table: str = ROWS) -> Iterator[tuple[Span, pa.Table]]:
        """Finished units of a span, all by default, in planned order."""
        ...

    def tables(self, cell: Cell) -> set[str]:
        """The names of a cell's tables."""
        ...

    def compact(self, cell: Cell, *, finished: bool = False) -> None:
        """Merges what lies together; of a finished cell, all of it."""
        ...


class Merging:
    """The driver's part of storing: told of what was written, merges now and then, so that files stay few."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._written: Counter[Cell] = Counter()

    def wrote(self, cell: Cell) -> None:
        self._written[cell] += 1
        if self._written[cell] % FAN == 0:
            self.store.compact(cell)


class MemoryStore:
    """For a measurement nobody wants to resume."""

    def __init__(self) -> None:
        self._tables: dict[Cell, dict[Span, Tables]] = {}

    def done(self, cell: Cell) -> list[Span]:
        return sorted(self._tables.get(cell, {}))

    def write(self, cell: Cell, span: Span, tables: Tables) -> None:
        self._tables.setdefault(cell, {})[span] = tables

    def read(self, cell: Cell, span: Span | None = None, table: str = ROWS) -> Iterator[tuple[Span, pa.Table]]:
        for here, tables in sorted(self._tables.get(cell, {}).items(), key=lambda item: item[0]):
            if span is None or (here.first < span.end and span.first < here.end):
                yield cut(here, tables[table], span)

    def tables(self, cell: Cell) -> set[str]:
        return {name for tables in self._tables.get(cell, {}).values() for name in tables}

    def compact(self, cell: Cell, *, finished: bool = False) -> None:
        """Nothing to merge."""


class UnitFile(NamedTuple):
    span: Span
    table: str
    path: Path


class FolderStore:
    """Parquet files under `folder/measure/classifier/images/nuisance/`. `depends` tells the hash of what a cell's rows
    depend on, which every file carries."""

    def __init__(self, folder: Path, depends: Callable[[Cell], str]) -> None:
        self.folder, self.depends = folder, depends
        self._cache: OrderedDict[Path, pa.Table] = OrderedDict()
        self._lock = threading.RLock()  # the thread that merges and the one that reads

    def done(self, cell: Cell) -> list[Span]:
        return [file.span for file in self._files(cell)]

    def write(self, cell: Cell, span: Span, tables: Tables) -> None:
        for name in sorted(tables, key=lambda each: each == ROWS):
            self._write(cell, span, name, tables[name])

    def read(self, cell: Cell, span: Span | None = None, table: str = ROWS) -> Iterator[tuple[Span, pa.Table]]:
        at, end = (0, None) if span is None else span
        while (found := self._next(cell, at, end, table)) is not None:
            yield found
            at = found[0].end

    def _next(self, cell: Cell, at: int, end: int | None, table: str) -> tuple[Span, pa.Table] | None:
        """The first finished units from `at` on that one file holds. Another process may merge files meanwhile: what
        has gone is looked for again."""
        for _ in range(MERGED_MEANWHILE):
            with self._lock:
                file = next((each for each in self._files(cell, table) if each.span.end > at), None)
                if file is None or (end is not None and max(at, file.span.first) >= end):
                    return None
                wanted = Span(max(at, file.span.first), file.span.end if end is None else min(end, file.span.end))
                try:
                    return cut(file.span, self._read(cell, file, wanted), wanted)
                except FileNotFoundError:
                    continue
        raise Failure(f"files of {self._place(cell)} vanish as they are read", "Let only one process use a run folder.")

    def verify(self, cell: Cell) -> list[Path]:
        """Removes what is torn, so that it is done again, and says which files those were; refuses what is not this
        cell's. What a kill left behind goes too: half-written files, and files that a merge had no time to remove."""
        removed: list[Path] = []
        while torn := [file.path for file in self._all(cell) if not self._whole(cell, file)]:
            for path in torn:
                path.unlink()
            removed += torn
        kept = {file.path for name in self.tables(cell) for file in self._files(cell, name)}
        place = self._place(cell)
        for leftover in place.glob("*.parquet"):
            if _NAME.fullmatch(leftover.name) and leftover not in kept:
                leftover.unlink()
        for leftover in place.glob("*.parquet.*.tmp"):
            leftover.unlink()
        return removed

    def compact(self, cell: Cell, *, finished: bool = False) -> None:
        """Merges FAN neighbours of one size wherever they lie together, and again while that makes FAN of the next
        size; of a finished cell everything that lies together. Only one process may do so at a time."""
        with self._lock:
            while run := self._mergeable(cell, finished):
                self._merge(cell, run)

    def _merge(self, cell: Cell, run: Sequence[Span]) -> None:
        merged, names = Span(run[0].first, run[-1].end), self.tables(cell)
        for name in sorted(names, key=lambda each: each == ROWS):
            parts = [UnitFile(span, name, self._path(cell, span, name)) for span in run]
            self._write(cell, merged, name, pa.concat_tables([self._read(cell, file) for file in parts]))
        for name in sorted(names, key=lambda each: each != ROWS):
            for span in run:
                self._path(cell, span, name).unlink(missing_ok=True)

    def _mergeable(self, cell: Cell, finished: bool) -> list[Span]:
        """Spans that are to become one file; none where there is nothing to merge."""
        sized = [(file.span, pq.read_metadata(file.path).num_rows) for file in self._files(cell)]
        together: list[tuple[Span, int]] = []
        for span, rows in sized:
            touching = bool(together) and together[-1][0].end == span.first
            alike = finished or (touching and _size_class(together[-1][1]) == _size_class(rows))
            if not touching or not alike or sum(each for _, each in together) + rows > LARGEST:
                if finished and len(together) > 1:
                    break
                together = []
            together.append((span, rows))
            if not finished and len(together) == FAN:
                break
        return [span for span, _ in together] if len(together) >= (2 if finished else FAN) else []

    def _place(self, cell: Cell) -> Path:
        return self.folder.joinpath(*(safe_name(part) for part in cell if part))

    def _path(self, cell: Cell, span: Span, table: str) -> Path:
        return self._place(cell) / f"{span.first:09d}-{span.end:09d}.{table}.parquet"

    def _all(self, cell: Cell) -> list[UnitFile]:
        place, found = self._place(cell), []
        for path in place.iterdir() if place.is_dir() else ():
            if match := _NAME.fullmatch(path.name):
                found.append(UnitFile(Span(int(match[1]), int(match[2])), match[3], path))
        return sorted(found, key=lambda file: (file.span.first, -file.span.end))

    def tables(self, cell: Cell) -> set[str]:
        return {file.table for file in self._all(cell)}

    def _files(self, cell: Cell, table: str = ROWS) -> list[UnitFile]:
        """Files of one table in order, those of finished units: one that lies inside another is what a merge had no
        time to remove."""
        everything = self._all(cell)
        kept: list[UnitFile] = []
        for file in everything:
            if file.table == ROWS and (not kept or file.span.first >= kept[-1].span.end):
                kept.append(file)
        if table == ROWS:
            return kept
        wanted = {file.span for file in kept}
        return [file for file in everything if file.table == table and file.span in wanted]

    def _write(self, cell: Cell, span: Span, name: str, table: pa.Table) -> None:
        about = {"cell": list(cell), "first": span.first, "end": span.end, "table": name, "rows": table.num_rows}
        text = json.dumps(about | {"depends": self.depends(cell)}, ensure_ascii=False).encode()
        stamped = table.replace_schema_metadata({KEY: text})
        write_durably(
            self._path(cell, span, name),
            lambda to: pq.write_table(
                stamped, to, compression="zstd", write_page_checksum=True, use_dictionary=False,
                row_group_size=ROW_GROUP,
            ),
        )  # fmt: skip

    def _whole(self, cell: Cell, file: UnitFile) -> bool:
        """Whether a file can be read as far as its metadata; one that is whole and not this cell's is refused."""
        try:
            found = pq.read_metadata(file.path)
            about = json.loads((found.metadata or {})[KEY])
        except (pa.ArrowInvalid, KeyError, ValueError):
            return False
        if about.get("rows") != found.num_rows:
            return False
        self._own(cell, file, about)
        return True

    def _own(self, cell: Cell, file: UnitFile, about: Mapping[str, Any]) -> None:
        """Refuses a file of another cell, other units, or a study of other things."""
        wanted = {"cell": list(cell), "first": file.span.first, "end": file.span.end, "table": file.table}
        if any(about.get(key) != value for key, value in wanted.items()):
            raise BrittleError(
                f"{file.path} holds rows of something else ({_described(about)})",
                "Move it back to where it belongs, or delete it: what is missing is computed anew.",
            )
        if about.get("depends") != self.depends(cell):
            raise BrittleError(
                f"{file.path} was computed from other things than this study names",
                "Restore them, run into another folder, or delete that file: what is missing is computed anew.",
            )

    def _read(self, cell: Cell, file: UnitFile, span: Span | None = None) -> pa.Table:
        """A file's table, or of a large one only the part that holds a span."""
        if file.path in self._cache:
            self._cache.move_to_end(file.path)
            return self._cache[file.path]
        try:
            with pq.ParquetFile(file.path, page_checksum_verification=True) as opened:
                self._own(cell, file, json.loads((opened.metadata.metadata or {}).get(KEY, b"{}")))
                groups = list(range(opened.metadata.num_row_groups))
                part = [group for group in groups if span is None or _holds(opened.metadata.row_group(group), span)]
                table = opened.read_row_groups(part).replace_schema_metadata(None)
        except FileNotFoundError:
            raise
        except (pa.ArrowInvalid, ValueError, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise Failure(f"{file.path} can't be read: {error.strerror}", "Check the disk.") from error
            raise BrittleError(
                f"{file.path} is damaged ({str(error).splitlines()[0]})",
                "Delete that file and give the run command again; only its units are computed anew.",
            ) from error
        if part == groups:
            self._keep(file.path, table)
        return table

    def _keep(self, path: Path, table: pa.Table) -> None:
        self._cache[path] = table
        while len(self._cache) > 1 and sum(each.nbytes for each in self._cache.values()) > CACHED:
            self._cache.popitem(last=False)


def _holds(group: Any, span: Span) -> bool:
    """Whether a row group has rows of any unit of a span."""
    statistics = group.column(0).statistics
    return statistics is None or (statistics.min < span.end and span.first <= statistics.max)


def _described(about: Mapping[str, Any]) -> str:
    cell = " · ".join(part for part in about.get("cell", ()) if part)
    return f"{cell}, units {about.get('first')} to {about.get('end')}" if cell else "nobody knows what"


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
        beside = {name: pa.concat_tables([each for _, each in store.read(cell, here, name)]) for name in others}
        yield here, {ROWS: rows} | beside


def _size_class(rows: int) -> int:
    return int(math.log(max(rows, 1), FAN))


def safe_name(name: str) -> str:
    """A file name for any name: itself where it is harmless, else cleaned and told apart by a hash."""
    cleaned = re.sub(r"[^A-Za-z0-9._=-]+", "-", name).strip(".-")[:60]
    if cleaned == name != "":
        return name
    return f"{cleaned}-{hashlib.blake2b(name.encode(), digest_size=4).hexdigest()}"


def refuse_same_folders(names: Iterable[str], sort: str) -> None:
    """Names that would share a folder, on a disk that ignores case too, would share rows."""
    folders: dict[str, str] = {}
    for name in names:
        other = folders.setdefault(safe_name(name).casefold(), name)
        if other != name:
            raise BrittleError(
                f"the {sort} {other!r} and {name!r} would share a folder on some disks", "Rename one of them."
            )


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
