"""A run's tables for other tools."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from brittle.engine.runs import named_folder
from brittle.errors import BrittleError
from brittle.registry import did_you_mean
from brittle.report.export import write_tables
from brittle.report.page.loaded import LoadedRun, load
from brittle.report.rows import all_rows

FOLDER = "export"  # in the run folder


def export(run: str | Path, out: str | Path | None = None, *, format: str = "csv") -> list[Path]:
    """Writes what every measure of a run says and the rows behind it, as "csv" or "parquet", or what they say as
    "markdown", into the folder `out`, `export` in the run folder by default; returns the files.

    Rows have the names of classifier, nuisance, image and classes beside them, and θ. Loads what the study names."""
    folder = named_folder(run)
    return write_tables(_loaded(folder), folder / FOLDER if out is None else Path(out), format)


def rows(run: str | Path, measure: str | None = None, table: str = "rows") -> pa.Table:
    """The rows of one measure of a run, with names and θ beside them; its name may be left out where there is only one.

    `brittle.rows("run").to_pandas()` is a DataFrame. Loads what the study names."""
    loaded = _loaded(named_folder(run))
    names = list(loaded.summary["measures"])
    if measure is None and len(names) > 1:
        raise BrittleError(f"the run holds several measures: {', '.join(names)}", "Name one of them.")
    name = names[0] if measure is None else measure
    if name not in names:
        raise BrittleError(f"the run holds no measure called {name!r}", did_you_mean(name, names))
    return all_rows(loaded.view(name), table)


def _loaded(folder: Path) -> LoadedRun:
    found = load(folder)
    if found.missing:
        raise BrittleError(found.missing[0].rstrip("."), "Restore it: names and θ of the rows follow from it.")
    return found
