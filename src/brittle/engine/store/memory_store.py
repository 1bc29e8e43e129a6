"""Finished units of a measurement that is not to be resumed: in memory, and past some size in a temporary folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyarrow import feather

from brittle.engine.store.earlier_units import EarlierUnits
from brittle.engine.store.unit_store import cut
from brittle.measures.base import ROWS, Cell, Tables
from brittle.measures.plan import Span

KEPT = 1 << 28  # bytes of tables in memory


class MemoryStore:
    """Tables of units, by cell. Memory does not grow with the number of draws: what comes after the first `most` bytes
    goes to disk."""

    def __init__(self, most: int = KEPT) -> None:
        self._left = most
        self._tables: dict[Cell, dict[Span, Mapping[str, pa.Table | Path]]] = {}
        self._folder: TemporaryDirectory[str] | None = None
        self._files = 0

    def done(self, cell: Cell) -> list[Span]:
        return sorted(self._tables.get(cell, {}))

    def write(self, cell: Cell, span: Span, tables: Tables) -> None:
        size = sum(table.nbytes for table in tables.values())
        self._tables.setdefault(cell, {})[span] = tables if size <= self._left else self._on_disk(tables)
        self._left -= min(size, self._left)

    def read(self, cell: Cell, span: Span | None = None, table: str = ROWS) -> Iterator[tuple[Span, pa.Table]]:
        for here, tables in sorted(self._tables.get(cell, {}).items(), key=lambda item: item[0]):
            if table in tables and (span is None or (here.first < span.end and span.first < here.end)):
                found = tables[table]
                yield cut(here, feather.read_table(found) if isinstance(found, Path) else found, span)

    def tables(self, cell: Cell) -> set[str]:
        return {name for tables in self._tables.get(cell, {}).values() for name in tables}

    def compact(self, cell: Cell, *, finished: bool = False) -> None:
        """Nothing to merge."""

    def earlier(self, cell: Cell) -> Iterator[EarlierUnits]:
        return iter(())

    def remove_earlier(self, cell: Cell) -> None:
        """Nothing is kept for another time."""

    def refresh(self, cell: Cell | None = None) -> None:
        """Nobody else writes here."""

    def _on_disk(self, tables: Tables) -> dict[str, Path]:
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="brittle-")
        found = {}
        for name, table in tables.items():
            found[name] = Path(self._folder.name) / f"{self._files}.arrow"
            feather.write_feather(table, found[name], compression="zstd")
            self._files += 1
        return found
