"""Unit files as they are read: each is checked when it is first opened, and what it says about itself is remembered."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from brittle.engine.store.filesystem import Filesystem
from brittle.engine.store.unit_file import DamagedFile, about_of, check, parquet_of, row_groups
from brittle.errors import BrittleError
from brittle.files import unusable
from brittle.measures.base import Cell
from brittle.measures.plan import Span

CACHED = 1 << 26  # bytes of what was read last that are kept


class UnitFile(NamedTuple):
    span: Span
    table: str
    path: str


class Part(NamedTuple):
    """A file's table, or some of its row groups."""

    path: str
    groups: tuple[int, ...] | None = None  # None: all


class CheckedFiles:
    """Reads unit files. `depends` and `extent` say what a cell's files must have been computed from."""

    def __init__(self, disk: Filesystem, depends: Callable[[Cell], str], extent: Callable[[Cell], str]) -> None:
        self.disk, self.depends, self.extent = disk, depends, extent
        self._tables: OrderedDict[Part, pa.Table] = OrderedDict()
        self._parts: dict[str, set[Part]] = {}  # of these, by path
        self._bytes = 0  # of these tables
        self._keeping = threading.Lock()
        self._about: dict[str, Mapping[str, Any]] = {}  # by path: what files say that were found to be whole

    def note(self, path: str, about: Mapping[str, Any]) -> None:
        """Remembers what a file that was just written says about itself."""
        self._about[path] = about

    def forget(self, path: str) -> None:
        self._about.pop(path, None)
        with self._keeping:
            for part in tuple(self._parts.get(path, ())):
                self._drop(part)

    def about(self, cell: Cell, file: UnitFile) -> Mapping[str, Any]:
        """What a file says about itself."""
        if file.path not in self._about:
            with self._sound(cell, file):
                pass
        return self._about[file.path]

    def tables(self, cell: Cell, file: UnitFile) -> list[str]:
        """The tables that a file of rows names: its own, and those beside it."""
        found: list[str] = self.about(cell, file)["tables"]
        return found

    def is_whole(self, cell: Cell, file: UnitFile) -> bool:
        """Whether a file is there as it was written; one that is whole and not this cell's is refused."""
        self._about.pop(file.path, None)  # looked at afresh
        try:
            with self._opened(cell, file):
                return True
        except DamagedFile:
            return False

    def read(self, cell: Cell, file: UnitFile, span: Span | None = None) -> pa.Table:
        """A file's table, or of a large one only the part that holds a span."""
        if (kept := self._kept(Part(file.path))) is not None:
            return kept
        with self._sound(cell, file) as opened:
            every = list(range(opened.metadata.num_row_groups))
            groups = every if span is None else row_groups(opened, *span)
            part = Part(file.path, None if groups == every else tuple(groups))
            if (kept := self._kept(part)) is not None:
                return kept
            table = opened.read_row_groups(groups).replace_schema_metadata(None)
        self._keep(part, table)
        return table

    def _kept(self, part: Part) -> pa.Table | None:
        with self._keeping:
            if part in self._tables:
                self._tables.move_to_end(part)
            return self._tables.get(part)

    def _keep(self, part: Part, table: pa.Table) -> None:
        with self._keeping:
            self._drop(part)
            self._tables[part] = table
            self._parts.setdefault(part.path, set()).add(part)
            self._bytes += table.nbytes
            while len(self._tables) > 1 and self._bytes > CACHED:
                self._drop(next(iter(self._tables)))

    def _drop(self, part: Part) -> None:
        if (table := self._tables.pop(part, None)) is not None:
            self._bytes -= table.nbytes
            self._parts[part.path].discard(part)
            if not self._parts[part.path]:
                del self._parts[part.path]

    @contextmanager
    def _opened(self, cell: Cell, file: UnitFile) -> Iterator[pq.ParquetFile]:
        """A file that is whole and this cell's. It is read once to find out."""
        try:
            if file.path in self._about:
                found = pq.ParquetFile(self.disk.open(file.path), page_checksum_verification=True)
            else:
                content = self.disk.read(file.path)
                check(content)
                found = parquet_of(content)
            with found as opened:
                if file.path not in self._about:
                    about = about_of(opened)
                    self._refuse_others(cell, file, about)
                    self._about[file.path] = about
                yield opened
        except FileNotFoundError:
            raise
        except OSError as error:
            if error.errno is None:  # Arrow's own, of a file that makes no sense
                raise DamagedFile(str(error).splitlines()[0]) from error
            raise unusable(self.disk.shown(file.path), "read", error) from error
        except (pa.ArrowException, ValueError, KeyError) as error:
            raise DamagedFile(str(error).splitlines()[0]) from error

    @contextmanager
    def _sound(self, cell: Cell, file: UnitFile) -> Iterator[pq.ParquetFile]:
        """A file as it is opened where damage can't be made good."""
        try:
            with self._opened(cell, file) as opened:
                yield opened
        except DamagedFile as error:
            raise BrittleError(
                f"{self.disk.shown(file.path)} is damaged ({error})",
                "Give the run command again: only the units of that file are computed again.",
            ) from error

    def _refuse_others(self, cell: Cell, file: UnitFile, about: Mapping[str, Any]) -> None:
        """Refuses a file of another cell, other units, or a study of other things."""
        wanted = {"cell": list(cell), "first": file.span.first, "end": file.span.end, "table": file.table}
        if any(about.get(key) != value for key, value in wanted.items()):
            raise BrittleError(
                f"{self.disk.shown(file.path)} holds rows of another measure or study ({_described(about)})",
                "Move it back to where it belongs, or delete it: what is missing is computed again.",
            )
        if about.get("depends") != self.depends(cell) or about.get("extent") != self.extent(cell):
            raise BrittleError(
                f"{self.disk.shown(file.path)} was computed from other things than this study names",
                "Restore them, run into another folder, or delete that file: what is missing is computed again.",
            )


def _described(about: Mapping[str, Any]) -> str:
    cell = " · ".join(part for part in about.get("cell", ()) if part)
    return f"{cell}, units {about.get('first')} to {about.get('end')}" if cell else "which one is not recorded"
