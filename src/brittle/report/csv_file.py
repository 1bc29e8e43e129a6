"""CSV files that spreadsheets may open: what others called their images and classes is text there, never a formula."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # some take the wide ones too
TEXT = "'"  # before what is not to be computed, as spreadsheets themselves write it


def write_csv(path: Path, parts: Iterable[pa.Table]) -> None:
    """Writes tables with the same columns part by part, so that they need not fit into memory together."""
    tables = map(_plain, parts)
    first = next(tables)
    with pyarrow.csv.CSVWriter(path, first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)


def as_text(value: str | None) -> str | None:
    """Text as a spreadsheet shows it: with an apostrophe where it would be computed."""
    return TEXT + value if value is not None and value.startswith(FORMULA) and not _is_number(value) else value


def _plain(table: pa.Table) -> pa.Table:
    """Columns that CSV can hold: lists as JSON, no bytes, and no formulas."""
    for place, field in reversed(list(enumerate(table.schema))):
        column, name = table[place], as_text(field.name)
        if pa.types.is_binary(field.type):
            table = table.remove_column(place)
        elif pa.types.is_nested(field.type):
            texts = [None if each is None else json.dumps(each) for each in column.to_pylist()]
            table = table.set_column(place, name, pa.array(texts, pa.string()))
        elif pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            table = table.set_column(place, name, _each_as_text(column))
        elif name != field.name:
            table = table.set_column(place, name, column)
    return table


def _each_as_text(column: pa.ChunkedArray) -> pa.Array:
    """Every different value is looked at once: there are few in a million rows."""
    coded = column.combine_chunks().dictionary_encode()
    return pa.DictionaryArray.from_arrays(
        coded.indices, pa.array([as_text(each) for each in coded.dictionary.to_pylist()], pa.string())
    ).dictionary_decode()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
