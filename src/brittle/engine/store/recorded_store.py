"""The units of a finished run for readers that load nothing of what its study names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from brittle.engine.store.place import Place
from brittle.engine.store.unit_file import about_of
from brittle.engine.store.unit_store import FolderStore
from brittle.errors import BrittleError
from brittle.measures.base import ROWS, Cell


class RecordedStore(FolderStore):
    """What a cell's rows depend on can't be known without its things: it is what the first file says, and all others
    must say the same."""

    def __init__(self, folder: Path | Place) -> None:
        self._first: dict[Cell, dict[str, Any]] = {}
        super().__init__(
            folder, lambda cell: str(self.said(cell)["depends"]), lambda cell: str(self.said(cell)["extent"])
        )

    def cells(self) -> list[Cell]:
        """All that the folder holds rows of."""
        found = []
        for place in self.places():
            rows = [name for name in self.disk.names(place) if name.endswith(f".{ROWS}.parquet")]
            if rows:
                found.append(Cell(*self._about(f"{place}/{rows[0]}")["cell"]))
        return found

    def _about(self, path: str) -> dict[str, Any]:
        try:
            with self.disk.open(path) as source, pq.ParquetFile(source) as opened:
                return {"depends": "", "extent": ""} | about_of(opened)
        except (pa.ArrowException, ValueError, KeyError, OSError) as error:
            raise BrittleError(f"{self.disk.shown(path)} is damaged", "Give the run command again.") from error

    def said(self, cell: Cell) -> dict[str, Any]:
        """What the first file of a cell says of itself."""
        if cell not in self._first:
            path = next((file.path for file in self._all(cell) if file.table == ROWS), "")
            if not path:
                named = " · ".join(filter(None, cell))
                raise BrittleError(f"{self.folder} holds no rows of {named}", "Give the run command again.")
            self._first[cell] = self._about(path)
        return self._first[cell]
