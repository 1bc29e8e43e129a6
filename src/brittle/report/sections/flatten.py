"""Any summary as tables: whatever a measure gave, its lists of dictionaries and its single values become rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from brittle.report.page.words import counted

Row = Mapping[str, Any]


def rows_of(summary: Row) -> dict[str, list[dict[str, Any]]]:
    """Title → rows. Single values are one row, without a title; each list of dictionaries, and each dictionary of
    dictionaries, is a table of its own."""
    single: dict[str, Any] = {}
    tables: dict[str, list[dict[str, Any]]] = {}
    for key, value in summary.items():
        if key == "kind":
            continue
        if _all(value, dict):
            tables[key] = [flat(row) for row in value]
        elif isinstance(value, Mapping) and _all(list(value.values()), dict):
            tables[key] = [{"name": name} | flat(row) for name, row in value.items()]
        else:
            single |= flat({key: value})
    return ({"": [single]} if single else {}) | tables


def flat(row: Row) -> dict[str, Any]:
    """Nested dictionaries become columns a_b; an interval becomes two, its bounds."""
    found: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            found |= {f"{key}_{inner}": item for inner, item in flat(value).items()}
        elif key.endswith("interval") and (value is None or _is_interval(value)):
            low, high = value or (None, None)
            stem = key.removesuffix("interval")
            found |= {f"{stem}low": low, f"{stem}high": high}
        else:
            found[key] = value
    return found


def _is_interval(value: Any) -> bool:
    numbers = int, float, type(None)  # an end may be past all that was found
    return isinstance(value, Sequence) and len(value) == 2 and all(isinstance(each, numbers) for each in value)


def _all(value: Any, kind: type) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, kind) for each in value)


def columns_of(rows: Iterable[Row]) -> list[str]:
    """Every column of some rows, in the order in which they first occur."""
    return list(dict.fromkeys(key for row in rows for key in row))


def arrow(rows: Sequence[Row], columns: Sequence[str] = ()) -> pa.Table:
    """Rows as an Arrow table, empty where a row lacks a column. Values that no one type holds are written as text."""
    names = list(columns) or columns_of(rows)
    return pa.table({name: _array([row.get(name) for row in rows]) for name in names})


def _array(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values])


def arrow_of(summary: Row) -> pa.Table:
    """All rows of a summary: of its only list, with single values in every row; of several lists, one after the other,
    `part` naming the list."""
    tables = rows_of(summary)
    (single,) = tables.pop("", [{}])
    if not tables:
        return arrow([single])
    several = len(tables) > 1
    return arrow([single | ({"part": part} if several else {}) | row for part, rows in tables.items() for row in rows])


def text(value: Any, most: int = 8) -> str:
    """A value in a table; long lists are cut."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}".replace("-", "−")
    if _all(value, dict):
        return counted(len(value), "row")
    if isinstance(value, (list, tuple)):
        shown = ", ".join(text(each) for each in value[:most])
        return f"{shown}, … ({len(value)} in all)" if len(value) > most else shown
    return str(value)
