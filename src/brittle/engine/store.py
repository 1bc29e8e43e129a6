"""Where finished units live: in memory, or in a run folder that survives `kill -9` at any moment.

A file holds a range of consecutive units of one cell (a measure, a classifier, an image set and a nuisance) in planned
order. It is written under another name, flushed, then renamed: what has its name is done. As a cell grows,
neighbouring files are merged, so that a million units are not a million files.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from brittle.errors import BrittleError
from brittle.files import write_durably
from brittle.measures.plan import Span

FAN = 16  # this many neighbours of one size become one file
LARGEST = 1 << 22  # rows in a merged file
_NAME = re.compile(r"(\d{9})-(\d{9})\.parquet")


class Cell(NamedTuple):
    """One measure of one classifier on one image set under one nuisance, or what it says of the untouched images."""

    measure: str
    classifier: str
    images: str
    nuisance: str


class Store(Protocol):
    def done(self, cell: Cell) -> list[Span]:
        """What is finished, in order, without overlap."""
        ...

    def write(self, cell: Cell, span: Span, rows: pa.Table) -> None: ...

    def read(self, cell: Cell) -> Iterator[tuple[Span, pa.Table]]:
        """Finished rows in planned order."""
        ...


class MemoryStore:
    """For a measurement nobody wants to resume."""

    def __init__(self) -> None:
        self._rows: dict[Cell, dict[Span, pa.Table]] = {}

    def done(self, cell: Cell) -> list[Span]:
        return sorted(self._rows.get(cell, {}))

    def write(self, cell: Cell, span: Span, rows: pa.Table) -> None:
        self._rows.setdefault(cell, {})[span] = rows

    def read(self, cell: Cell) -> Iterator[tuple[Span, pa.Table]]:
        return iter(sorted(self._rows.get(cell, {}).items()))


class FolderStore:
    """Parquet files under `folder/measure/classifier/images/nuisance/`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def done(self, cell: Cell) -> list[Span]:
        return [span for span, _ in self._files(cell)]

    def write(self, cell: Cell, span: Span, rows: pa.Table) -> None:
        place = self._place(cell)
        _write_whole(rows, place / _file_name(span))
        self._merge(cell)

    def read(self, cell: Cell) -> Iterator[tuple[Span, pa.Table]]:
        for span, path in self._files(cell):
            yield span, _read(path)

    def verify(self, cell: Cell, rows_in: Callable[[Span], int]) -> list[Path]:
        """Removes what is torn or of the wrong length, so that it is done again, and says which files those were.

        What a kill left behind goes too: half-written files, and files that a merge had no time to remove."""
        removed: list[Path] = []
        while torn := [path for span, path in self._files(cell) if _length(path) != rows_in(span)]:
            for path in torn:
                path.unlink()
            removed += torn
        kept = {path for _, path in self._files(cell)}
        for pattern in ("*.tmp", "*.parquet"):
            for leftover in set(self._place(cell).glob(pattern)) - kept:
                leftover.unlink()
        return removed

    def _place(self, cell: Cell) -> Path:
        return self.folder.joinpath(*map(safe_name, cell))

    def _files(self, cell: Cell) -> list[tuple[Span, Path]]:
        """Files in order; one that lies inside another is what a merge had no time to remove."""
        found = []
        place = self._place(cell)
        for path in place.iterdir() if place.is_dir() else ():
            if match := _NAME.fullmatch(path.name):
                found.append((Span(int(match[1]), int(match[2])), path))
        kept: list[tuple[Span, Path]] = []
        for span, path in sorted(found, key=lambda item: (item[0].first, -item[0].end)):
            if not kept or span.first >= kept[-1][0].end:
                kept.append((span, path))
        return kept

    def _merge(self, cell: Cell) -> None:
        """Merges the last FAN neighbours of one size, and again while that makes FAN of the next size."""
        while True:
            files = self._files(cell)[-FAN:]
            spans = [span for span, _ in files]
            sizes = [pq.read_metadata(path).num_rows for _, path in files] if len(files) == FAN else []
            contiguous = all(left.end == right.first for left, right in itertools.pairwise(spans))
            if not sizes or not contiguous or len({_size_class(size) for size in sizes}) > 1 or sum(sizes) > LARGEST:
                return
            merged = Span(spans[0].first, spans[-1].end)
            _write_whole(pa.concat_tables([_read(path) for _, path in files]), self._place(cell) / _file_name(merged))
            for _, path in files:
                path.unlink()


def _length(path: Path) -> int | None:
    """Rows of a unit file; None if it is torn."""
    try:
        length: int = pq.read_metadata(path).num_rows
    except (pa.ArrowInvalid, OSError):
        return None
    return length


def _size_class(rows: int) -> int:
    return int(math.log(max(rows, 1), FAN))


def _file_name(span: Span) -> str:
    return f"{span.first:09d}-{span.end:09d}.parquet"


def safe_name(name: str) -> str:
    """A file name for any name: itself where it is harmless, else cleaned and told apart by a hash."""
    cleaned = re.sub(r"[^A-Za-z0-9._=-]+", "-", name).strip(".-")[:60]
    if cleaned == name != "":
        return name
    return f"{cleaned}-{hashlib.blake2b(name.encode(), digest_size=4).hexdigest()}"


def _write_whole(rows: pa.Table, path: Path) -> None:
    write_durably(
        path, lambda to: pq.write_table(rows, to, compression="zstd", write_page_checksum=True, use_dictionary=False)
    )


def _read(path: Path) -> pa.Table:
    try:
        return pq.read_table(path, page_checksum_verification=True, partitioning=None)
    except (pa.ArrowInvalid, OSError) as error:
        raise BrittleError(
            f"{path} is damaged ({str(error).splitlines()[0]})",
            "Delete that file and give the run command again; only its units are computed anew.",
        ) from error


def gaps(done: Sequence[Span], span: Span) -> list[Span]:
    """The parts of `span` that are not done, in order."""
    found, at = [], span.first
    for have in done:
        if have.end <= at or have.first >= span.end:
            continue
        if have.first > at:
            found.append(Span(at, have.first))
        at = have.end
    if at < span.end:
        found.append(Span(at, span.end))
    return found
