"""Tables made column by column: a title, and what stands in its cells.

A column is a pair of these, so that one is left out in one place: `*[("spread", bare("spread"))] * several`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from brittle.report.blocks import Column, Table
from brittle.report.blocks.text import ClassifierName, Count, TableCell
from brittle.report.blocks.wording import estimate, share
from brittle.report.page.section import Row

Making = Callable[[Any], TableCell]
Titled = tuple[Column | str, Making]


def table(rows: Iterable[Any], *columns: Titled, **more: Any) -> Table:
    """A row per row."""
    cells = tuple(tuple(making(row) for _, making in columns) for row in rows)
    return Table(tuple(title for title, _ in columns), cells, **more)


def pairs(*rows: tuple[TableCell, TableCell]) -> Table:
    """Names, and what each stands for."""
    return Table(("", ""), rows, "pairs")


def who(row: Row) -> ClassifierName:
    return ClassifierName(row["classifier"])


WHO: Titled = ("classifier", who)


def text(key: str) -> Making:
    return lambda row: row[key]


def count(key: str, of: str = "") -> Making:
    """1,234; 5 of 80"""

    def made(row: Row) -> Count:
        inner, last = _within(row, key)
        return Count(inner[last], row[of] if of else None)

    return made


def estimated(key: str, interval: str = "", **more: Any) -> Making:
    """A number with its interval. A key may lead into a row's own rows: `errors.change.auroc`."""
    return lambda row: estimate(*_within(row, key), interval, **more)


def part(key: str, interval: str = "", places: int = 1, **more: Any) -> Making:
    """A share with its interval, in percent."""
    return lambda row: share(*_within(row, key), interval, places, **more)


def bare(key: str, places: int = 3, **more: Any) -> Making:
    """A number without its interval."""
    return estimated(key, "none", places=places, **more)


def bare_share(key: str, places: int = 1) -> Making:
    return part(key, "none", places)


def _within(row: Row, key: str) -> tuple[Row, str]:
    *path, last = key.split(".")
    for each in path:
        row = row[each] or {last: None}
    return row, last
