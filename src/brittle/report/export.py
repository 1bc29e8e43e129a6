"""Tables of a run for other tools: what every measure says, and the rows behind it, as CSV, Parquet or Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from brittle.engine.store.folder_names import safe_name
from brittle.engine.store.place import Place
from brittle.errors import BrittleError
from brittle.files import write_durably
from brittle.measures.base import ROWS
from brittle.registry import did_you_mean
from brittle.report.console import one_table
from brittle.report.csv_file import write_csv
from brittle.report.page.loaded import LoadedRun
from brittle.report.rows import named_rows

FORMATS = {"csv": ".csv", "parquet": ".parquet", "markdown": ".md"}
PICTURES = "pictures"  # a table of bytes, of no use elsewhere


def write_tables(run: LoadedRun, out: Place, format: str) -> list[Place]:
    """Writes a table per measure and, but in Markdown, its rows; returns the files, in order."""
    if format not in FORMATS:
        raise BrittleError(f"unknown format {format!r}", did_you_mean(format, FORMATS))
    if not out.remote:
        out.local.mkdir(parents=True, exist_ok=True)
    written = []
    for name in run.summary["measures"]:
        path = out / f"{safe_name(name)}{FORMATS[format]}"
        _write(path, iter([one_table(run.summary, name)]), format)
        written.append(path)
        if format == "markdown" or name not in run.job.assignments:
            continue
        view = run.view(name)
        tables = {ROWS} | {table for cell in view.cells() for table in view.store.tables(cell)}
        for table in sorted(tables - {PICTURES}):
            parts = named_rows(view, table)
            first = next(parts, None)
            if first is not None:
                path = out / f"{safe_name(name)}-{table}{FORMATS[format]}"
                _write(path, _again(first, parts), format)
                written.append(path)
    return written


def _again(first: pa.Table, others: Iterator[pa.Table]) -> Iterator[pa.Table]:
    yield first
    yield from others


def _write(path: Place, parts: Iterator[pa.Table], format: str) -> None:
    """Part by part, so that a run's rows need not fit into memory; for an object store on this machine first."""
    with path.made_on_disk() as file:
        write_durably(file, lambda to: WRITERS[format](to, parts))


def _parquet(path: Path, parts: Iterator[pa.Table]) -> None:
    first = next(parts)
    with pyarrow.parquet.ParquetWriter(path, first.schema) as writer:
        writer.write_table(first)
        for part in parts:
            writer.write_table(part)


def _markdown(path: Path, parts: Iterator[pa.Table]) -> None:
    table = pa.concat_tables(parts)
    lines = ["| " + " | ".join(table.column_names) + " |", "| " + " | ".join("---" for _ in table.column_names) + " |"]
    lines += ["| " + " | ".join(map(_cell, row.values())) + " |" for row in table.to_pylist()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    text = "" if value is None else json.dumps(value) if isinstance(value, (list, dict)) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")


WRITERS = {"csv": write_csv, "parquet": _parquet, "markdown": _markdown}
