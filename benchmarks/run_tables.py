"""What a run folder holds, in one form whatever layout it was written in: rows by cell, and all that was said of them.

The "format" in begun.json tells the layout. The first (no format) keeps an image's weak-point diagnosis as JSON in its
first row, clean rows under a nuisance called clean, and the parts of the summary at its top level. The second has
several tables per cell, named in the file names, a column `unit`, and a summary per measure; so have those up to the
seventh, which differ in begun.json.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from former import asked_for, in_todays_words

ROBUSTNESS, WEAK_POINTS, CLEAN = "robustness", "weak-points", "clean"
NAMES = ("image_set", "nuisance", "classifier", "first", "second", "name")  # what tells entries of a summary apart
KEYS = ("image", "target", "repeat", "draw", "place", "layer", "grid", "augmentation", "unit")  # and rows of a table
_FILE = re.compile(r"(\d+)-(\d+)(?:\.(\w+))?\.parquet")


class Cell(NamedTuple):
    """As the folders are called; `nuisance` is empty where there is none."""

    measure: str
    classifier: str
    images: str
    nuisance: str


class Run(NamedTuple):
    rows: dict[Cell, pa.Table]  # sorted by image and draw, no row past a stopping point
    said: dict[str, Any]  # the summary, and the diagnosis of every image's weak points


def read(folder: Path) -> Run:
    begun = json.loads((folder / "begun.json").read_text(encoding="utf-8"))
    reader = {1: _read_first, **dict.fromkeys(range(2, 8), _read_second)}.get(begun.get("format", 1))
    if reader is None:
        raise SystemExit(f"{folder} has the format {begun['format']}: write a reader for it in {Path(__file__).name}")
    found = reader(folder, json.loads((folder / "summary.json").read_text(encoding="utf-8")))
    return Run(_reached(found), found.said)


def _read_first(folder: Path, summary: Mapping[str, Any]) -> Run:
    said: dict[str, Any] = {key: summary[key] for key in ("classifiers", "image_sets", "skipped")}
    if "results" in summary:
        said[ROBUSTNESS] = {key: _by_name(summary[key]) for key in ("results", "comparisons")}
    if "weak_points" in summary:
        said[WEAK_POINTS] = {"entries": _by_name(_renamed(summary["weak_points"]))}
    rows, diagnoses = {}, {}
    for cell, tables in _tables(folder):
        table = tables["rows"]
        if cell.measure == WEAK_POINTS:
            texts = table["diagnosis"].drop_null().to_pylist()
            diagnoses[cell] = {str(each.pop("id")): each for each in _renamed(list(map(json.loads, texts)))}
            table = table.drop_columns(["diagnosis"])
        if cell.measure == CLEAN:
            cell, table = cell._replace(nuisance=""), table.drop_columns(["draw"])
        rows[cell] = table
    return Run(rows, said | {"diagnoses": _plain(diagnoses)})


def _read_second(folder: Path, summary: Mapping[str, Any]) -> Run:
    said: dict[str, Any] = {key: summary[key] for key in ("classifiers", "image_sets", "skipped")}
    study = tomllib.loads((folder / "study.toml").read_text(encoding="utf-8"))
    for name, entry in summary["measures"].items():
        told = in_todays_words(name, entry, study.get("nuisances", {}))
        said[name] = {
            key: _by_name(value) if isinstance(value, list) else value for key, value in told.items() if key != "kind"
        }
    rows, diagnoses = {}, {}
    for cell, tables in _tables(folder):
        if not asked_for(cell.measure, summary["measures"].get(cell.measure, {"kind": cell.measure})):
            continue
        rows[cell] = tables.pop("rows").drop_columns(["unit"])
        if cell.measure == CLEAN and "draw" in rows[cell].column_names:
            rows[cell] = rows[cell].drop_columns(["draw"])
        if cell.measure == WEAK_POINTS:
            found = tables.pop("images").drop_columns(["unit"]).to_pylist()
            diagnoses[cell] = {str(each.pop("image")): each for each in found}
        for name, table in tables.items():
            rows[cell._replace(measure=f"{cell.measure} {name}")] = table
    return Run(rows, said | {"diagnoses": _plain(diagnoses)})


def _tables(folder: Path) -> Iterator[tuple[Cell, dict[str, pa.Table]]]:
    """The tables of every cell, rows in planned order. A file that lies inside another was merged into it."""
    for place in sorted({path.parent for path in (folder / "units").rglob("*.parquet")}):
        files: dict[str, list[tuple[int, int, Path]]] = {}
        for path in place.glob("*.parquet"):
            if match := _FILE.fullmatch(path.name):
                files.setdefault(match[3] or "rows", []).append((int(match[1]), int(match[2]), path))
        tables = {}
        for name, found in files.items():
            kept: list[tuple[int, int, Path]] = []
            for each in sorted(found, key=lambda item: (item[0], -item[1])):
                if not kept or each[0] >= kept[-1][1]:
                    kept.append(each)
            tables[name] = pa.concat_tables([pq.read_table(path, partitioning=None) for *_, path in kept])
        parts = place.relative_to(folder / "units").parts
        yield Cell(*parts, *[""] * (len(Cell._fields) - len(parts))), tables


def _reached(run: Run) -> dict[Cell, pa.Table]:
    """Rows that the summary speaks of, sorted. How far past a stopping point a run computed is an accident of batches,
    and so is which further images were classified clean."""
    rows: dict[Cell, pa.Table] = {}
    used: dict[tuple[str, str], list[pa.Array]] = {}
    for cell, table in run.rows.items():
        if cell.measure == CLEAN:
            continue
        if cell.measure == ROBUSTNESS:
            result = next(
                each
                for each in run.said[ROBUSTNESS]["results"].values()
                if cell[1:] == tuple(safe_name(each[key]) for key in ("classifier", "image_set", "nuisance"))
            )
            images = pc.unique(table["image"])[: result["images"]]
            table = table.filter(pc.and_(pc.is_in(table["image"], images), pc.less(table["draw"], result["samples"])))
        keys = [name for name in KEYS if name in table.column_names]
        rows[cell] = table.sort_by([(name, "ascending") for name in keys]) if keys else table
        if "image" in table.column_names:
            used.setdefault((cell.classifier, cell.images), []).append(pc.unique(table["image"]))
    for cell, table in run.rows.items():
        if cell.measure == CLEAN:
            if (images := used.get((cell.classifier, cell.images))) is not None:
                table = table.filter(pc.is_in(table["image"], pa.concat_arrays(images)))
            rows[cell] = table.sort_by("image")
    return rows


def _by_name(entries: list[Any]) -> Any:
    """Entries that name what they are of, under these names: in whatever order they stand."""
    keys = [" · ".join(str(each[key]) for key in NAMES if key in each) for each in entries]
    return dict(zip(keys, entries, strict=True)) if all(keys) and len(set(keys)) == len(keys) else entries


def _renamed(value: Any) -> Any:
    """1 − µ as the second layout calls it."""
    if isinstance(value, list):
        return [_renamed(each) for each in value]
    if isinstance(value, dict):
        return {"one_minus_mu" if key == "missed" else key: _renamed(each) for key, each in value.items()}
    return value


def _plain(diagnoses: Mapping[Cell, Any]) -> dict[str, Any]:
    return {" · ".join(cell[1:]): found for cell, found in diagnoses.items()}


def safe_name(name: str) -> str:
    """The folder of a name: itself where it is harmless, else cleaned and told apart by a hash."""
    cleaned = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-")[:60]
    if cleaned == name != "":
        return name
    return f"{cleaned}-{hashlib.blake2b(name.encode(), digest_size=4).hexdigest()}"
