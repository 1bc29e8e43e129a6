"""A unit file: one table of some consecutive units of a cell as Parquet, which says whose it is and shows any damage.

Pages have checksums of their own, but a bit that turns in the footer can change what pages mean: a checksum over the
whole file stands in the metadata, computed with eight zeros in its own place.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

ROW_GROUP, GROUP_BYTES = 1 << 16, 1 << 26  # rows of a part that is read by itself, and bytes in memory
KEY = b"brittle"
_SUM, _BLANK = b'"sum": "', b"0" * 8


class DamagedFile(Exception):
    """A file that does not hold what was written."""


def encoded(table: pa.Table, about: Mapping[str, Any]) -> bytearray:
    """The bytes of a file that holds a table and what there is to know about it."""
    text = json.dumps({**about, "sum": _BLANK.decode()}, ensure_ascii=False).encode()
    stream = pa.BufferOutputStream()
    pq.write_table(
        table.replace_schema_metadata({KEY: text}),
        stream,
        compression="zstd",
        write_page_checksum=True,
        use_dictionary=False,
        row_group_size=max(1, min(ROW_GROUP, GROUP_BYTES * table.num_rows // max(1, table.nbytes))),
    )
    content = bytearray(stream.getvalue())
    place = content.rfind(_SUM) + len(_SUM)
    content[place : place + len(_BLANK)] = _checksum(content, place)
    return content


def parquet_of(content: bytes) -> pq.ParquetFile:
    """The file that these bytes are. Arrow owns a copy: its threads may let go of it when Python is already ending,
    and one that then waits for Python aborts the process."""
    own = pa.allocate_buffer(len(content))
    memoryview(own).cast("B")[:] = content
    return pq.ParquetFile(pa.BufferReader(own), page_checksum_verification=True)


def check(content: bytes) -> None:
    """Raises where these are not the bytes that were written."""
    place = content.rfind(_SUM) + len(_SUM)
    if place < len(_SUM) or content[place : place + len(_BLANK)] != _checksum(content, place):
        raise DamagedFile("its checksum is wrong")


def _checksum(content: bytes | bytearray, place: int) -> bytes:
    whole = memoryview(content)
    total = zlib.crc32(_BLANK, zlib.crc32(whole[:place]))
    return b"%08x" % zlib.crc32(whole[place + len(_BLANK) :], total)


def about_of(opened: pq.ParquetFile) -> dict[str, Any]:
    """What a file says about itself."""
    found: dict[str, Any] = json.loads(opened.metadata.metadata[KEY])
    return found


def row_groups(opened: pq.ParquetFile, first: int, end: int) -> list[int]:
    """The row groups that may have rows of the units [first, end)."""

    def holds(group: int) -> bool:
        units = opened.metadata.row_group(group).column(0).statistics
        return units is None or not units.has_min_max or (units.min < end and first <= units.max)

    return [group for group in range(opened.metadata.num_row_groups) if holds(group)]
