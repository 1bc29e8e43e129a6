"""Units of a few rows, and stores of them."""

from pathlib import Path

import numpy as np
import pyarrow as pa
from engine_runs import run

from brittle.engine.store.unit_store import FolderStore
from brittle.measures.base import Cell
from brittle.measures.plan import Span

CELL = Cell("measure", "classifier", "images", "nuisance")
OTHER = CELL._replace(classifier="rival")


def results(study, out=None, **options):
    return run(study, out=out, **options)["measures"]["robustness"]["results"]


def folder(path: Path, depends: str = "") -> FolderStore:
    """A store that knows nothing but what is on the disk."""
    return FolderStore(path, lambda cell: depends or " ".join(cell))


def rows(number: int, count: int = 10) -> pa.Table:
    return pa.table({"unit": np.full(count, number, np.int32), "row": np.arange(count)})


def unit(number: int, count: int = 10) -> dict[str, pa.Table]:
    return {"rows": rows(number, count)}


def with_diagnosis(number: int) -> dict[str, pa.Table]:
    """A unit of as many rows as its number says, with a second table of one row; every third has none of that."""
    told = {} if number % 3 == 0 else {"images": pa.table({"unit": [number], "mean": [number / 7]})}
    return unit(number, number % 4) | told


def write(store, numbers, make=unit) -> None:
    for number in numbers:
        store.write(CELL, Span(number, number + 1), make(number))


def stored(store, table: str = "rows") -> list[dict]:
    return [row for _, part in store.read(CELL, table=table) for row in part.to_pylist()]


def files(path: Path) -> list[Path]:
    return sorted(path.rglob("*.parquet"))
