"""A run's tables for other tools."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from brittle.engine.store.run_folder import folder_path
from brittle.errors import BrittleError
from brittle.registry import did_you_mean
from brittle.report.export import write_tables
from brittle.report.page.loaded import LoadedRun, load, loaded_of
from brittle.report.rows import all_rows
from brittle.results import RunPresentation

FOLDER = "export"  # in the run folder


def export(
    run: str | Path | RunPresentation, out: str | Path | None = None, *, format: str = "csv"
) -> list[Path | str]:
    """Writes what every measure of a run says and the rows behind it, as "csv" or "parquet", or what they say as
    "markdown", into the folder `out`, `export` in the run folder by default; returns the files.

    Rows have the names of classifier, nuisance, image and classes beside them, and θ. Loads what the study names; the
    result of a call stands for its run, where that has live objects."""
    loaded = _loaded(run)
    if out is None and loaded.path is None:
        raise BrittleError("there is no run folder that tables could go to", "Name a folder: export.")
    where = loaded.path / FOLDER if out is None and loaded.path is not None else folder_path(out or "")
    return [file.public for file in write_tables(loaded, where, format)]


def rows(run: str | Path | RunPresentation, measure: str | None = None, table: str = "rows") -> pa.Table:
    """The rows of one measure of a run, with names and θ beside them; its name may be left out where there is only one.

    `brittle.rows("run").to_pandas()` is a DataFrame. Loads what the study names; the result of a call stands for
    its run, where that has live objects."""
    loaded = _loaded(run)
    names = list(loaded.summary["measures"])
    if measure is None and len(names) > 1:
        raise BrittleError(f"the run holds several measures: {', '.join(names)}", "Name one of them.")
    name = names[0] if measure is None else measure
    if name not in names:
        raise BrittleError(f"the run holds no measure called {name!r}", did_you_mean(name, names))
    found = all_rows(loaded.view(name), table)
    if not found.column_names:
        others = [other for other in names if other != name]
        raise BrittleError(
            f"the measure {name!r} has no {table}", f"Those of others are there: {', '.join(others) or 'none'}."
        )
    return found


def _loaded(run: str | Path | RunPresentation) -> LoadedRun:
    if isinstance(run, RunPresentation):
        return loaded_of(run.run)
    found = load(folder_path(run))
    if found.live:
        raise BrittleError(
            f"the run in {run} has live Python objects ({', '.join(found.live)}), which can't be loaded again",
            "Give the result of the call that made it: the same call reads what is there.",
        )
    if found.missing:
        raise BrittleError(found.missing[0].rstrip("."), "Restore it: names and θ of the rows follow from it.")
    return found
