"""Columns that people bring for an image set: a CSV or Parquet file with `id` or `name`, and what is known of images.

Memorisation scores, typical or tail, who took the picture: any measure then works on the images that meet a condition.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from brittle.errors import BrittleError
from brittle.files import real_path, size_of
from brittle.images.limits import GIGABYTE, reason

KEYS = ("id", "name")
MOST_BYTES = GIGABYTE
MOST_VALUES = 10**8
REMEDY = "Give a CSV or Parquet file with a column `id` or `name`, and further columns of numbers or text."


def columns_of(
    what: str | Path | Mapping[str, Sequence[Any]] | pa.Table, ids: Sequence[int], names: Sequence[str], images: str
) -> dict[str, Sequence[Any]]:
    """The columns for images with these ids and names, matched by `id` or `name`. An image that is not spoken of has no
    value: NaN, or "" among text. `images` is what their set is called."""
    if isinstance(what, (str, Path)):
        table, where = read_columns(str(what)), str(what)
    else:
        table, where = what if isinstance(what, pa.Table) else _table(what), "the columns"
    key = next((key for key in KEYS if key in table.column_names), None)
    further = [name for name in table.column_names if name not in KEYS]
    if key is None or not further or len(set(table.column_names)) < len(table.column_names):
        shown = ", ".join(table.column_names[:8]) or "none"
        raise BrittleError(f"{where} holds no columns that can be matched to images (its columns: {shown})", REMEDY)
    places = _places(ids if key == "id" else names, table[key], key, where)
    if not (places >= 0).any():
        raise BrittleError(f"{where} mentions no image of {images!r}", f"Use its own {key}s.")
    return {name: _spread(table[name], places, name, where) for name in further}


def read_columns(path: str) -> pa.Table:
    file = Path(real_path(path))
    if size_of(file) > MOST_BYTES:
        raise BrittleError(f"{path} is larger than {MOST_BYTES // GIGABYTE} GB", "Leave out what is not needed.")
    try:
        table = _parquet(file) if file.suffix.lower() in (".parquet", ".pq") else pa.csv.read_csv(file)
        table.validate(full=True)
        _ = table.column_names  # which may be no text
        return table
    except (OSError, ValueError, pa.ArrowException) as error:
        raise BrittleError(f"{path} can't be read: {reason(error)}", REMEDY) from error


def _parquet(file: Path) -> pa.Table:
    """A few bytes may declare any number of rows: what they say is held against a limit before they are read."""
    with pa.parquet.ParquetFile(file) as opened:
        about = opened.metadata
        if about.num_rows * max(1, about.num_columns) > MOST_VALUES:
            raise BrittleError(f"{file} declares {about.num_rows} rows, too many", "Leave out what is not needed.")
        return opened.read()


def hash_of(path: str) -> str:
    """Of a file's content."""
    file = Path(real_path(path))
    size_of(file)
    return hashlib.blake2b(file.read_bytes(), digest_size=12).hexdigest()


def _table(columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    try:
        return pa.table(dict(columns))
    except (ValueError, TypeError, pa.ArrowException) as error:
        raise BrittleError(f"the columns differ in length: {reason(error)}", REMEDY) from error


def _places(wanted: Sequence[Any], keys: pa.ChunkedArray, key: str, where: str) -> NDArray[np.int64]:
    """For each image the row about it, −1 where none does."""
    if key == "id" and not pa.types.is_integer(keys.type):
        raise BrittleError(f"{where}: the column id holds {keys.type}, not whole numbers", "Give ids of the images.")
    if key == "name" and not (pa.types.is_string(keys.type) or pa.types.is_large_string(keys.type)):
        raise BrittleError(f"{where}: the column name holds {keys.type}, not text", "Give names of the images.")
    rows: dict[Any, int] = {}
    for row, value in enumerate(keys.to_pylist()):
        if value in rows:
            raise BrittleError(f"{where}: the {key} {value!r} occurs twice", "Give one row per image.")
        rows[value] = row
    return np.array([rows.get(each, -1) for each in wanted], dtype=np.int64)


def _spread(values: pa.ChunkedArray, places: NDArray[np.int64], name: str, where: str) -> Sequence[Any]:
    """The column in the order of the images: whole numbers where every image has one, other numbers, or text."""
    kind, there = values.type, places >= 0
    if pa.types.is_boolean(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
        text = ["" if each is None else str(each) for each in values.cast(pa.string()).to_pylist()]
        return [text[place] if place >= 0 else "" for place in places]
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise BrittleError(f"{where}: the column {name!r} holds {kind}, neither numbers nor text", REMEDY)
    found: Any
    if pa.types.is_integer(kind) and there.all() and not values.null_count:
        found = values.to_numpy()[places]
    else:
        numbers = np.array([np.nan if each is None else float(each) for each in values.to_pylist()])
        found = np.where(there, numbers[np.maximum(places, 0)], np.nan)
    column: Sequence[Any] = found
    return column
