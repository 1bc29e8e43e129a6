"""Unit files from before a run was extended: their rows hold, and only the numbering of units is another.

They are put aside as `.earlier` and stay until every row of theirs has found its place in today's units.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from brittle.engine.store.filesystem import Filesystem
from brittle.engine.store.unit_file import DamagedFile, about_of, check, parquet_of
from brittle.measures.base import ROWS, Tables
from brittle.measures.plan import Span

_NAME = re.compile(r"(\d{9})-(\d{9})\.([a-z0-9_]+)\.([0-9a-f]{16})\.earlier")
_UNREADABLE = (DamagedFile, OSError, pa.ArrowException, ValueError, KeyError, TypeError, AttributeError)


class EarlierUnits(NamedTuple):
    """Some units of a cell as they were numbered before its run was extended."""

    extent: str
    span: Span
    tables: Tables


def put_aside(disk: Filesystem, path: str, depends: str, extent: str) -> None:
    """Renames a file of the same things and another extent. A damaged one is left to whoever looks for damage."""
    try:
        with disk.open(path) as source, pq.ParquetFile(source) as opened:
            about = about_of(opened)
        if about["depends"] != depends or about["extent"] == extent:
            return
        check(disk.read(path))
        mark = hashlib.blake2b(about["extent"].encode(), digest_size=8).hexdigest()
    except _UNREADABLE:
        return
    disk.move(path, f"{path.removesuffix('.parquet')}.{mark}.earlier")


def earlier_units(disk: Filesystem, folder: str, depends: str) -> Iterator[EarlierUnits]:
    """The units in a cell's folder that were put aside, each with all of its tables; what is damaged is left out."""
    names = {match.groups(): f"{folder}/{match[0]}" for match in _matching(disk, folder)}
    for (first, end, table, mark), path in sorted(names.items()):
        about, rows = _read(disk, path) if table == ROWS else ({}, None)
        if rows is None or about.get("depends") != depends:
            continue
        found: dict[str, pa.Table | None] = {ROWS: rows}
        for other in set(about["tables"]) - {ROWS}:
            beside = names.get((first, end, other, mark))
            found[other] = None if beside is None else _read(disk, beside)[1]
        tables = {name: each for name, each in found.items() if each is not None}
        if len(tables) == len(found):
            yield EarlierUnits(about["extent"], Span(int(first), int(end)), tables)


def remove_earlier(disk: Filesystem, folder: str) -> None:
    for match in _matching(disk, folder):
        disk.remove(f"{folder}/{match[0]}")


def _matching(disk: Filesystem, folder: str) -> list[re.Match[str]]:
    return [match for name in disk.names(folder) if (match := _NAME.fullmatch(name))]


def _read(disk: Filesystem, path: str) -> tuple[dict[str, Any], pa.Table | None]:
    try:
        content = disk.read(path)
        check(content)
        with parquet_of(content) as opened:
            return about_of(opened), opened.read().replace_schema_metadata(None)
    except _UNREADABLE:
        return {}, None
