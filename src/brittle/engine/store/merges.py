"""Which files of a cell become one, so that a million units are not a million files: FAN neighbours of about one size,
then FAN of what those became, and so on, so that no row is copied often; once a cell is finished, all that is left. One
pass over the files says so, however many there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from brittle.measures.plan import Span

FAN = 16
LARGEST, LARGEST_BYTES = 1 << 22, 1 << 28  # rows in a merged file, and bytes in memory of it and those beside it


class SizedSpan(NamedTuple):
    """Units that one file holds, how many rows, and how many bytes of memory its tables take."""

    span: Span
    rows: int
    bytes: int = 0  # pictures fill memory long before there are many rows

    def with_more(self, file: SizedSpan) -> SizedSpan:
        return SizedSpan(Span(self.span.first, file.span.end), self.rows + file.rows, self.bytes + file.bytes)

    @property
    def fits(self) -> bool:
        return self.rows <= LARGEST and self.bytes <= LARGEST_BYTES


def when_finished(files: Iterable[SizedSpan]) -> Iterator[list[Span]]:
    """Everything that lies together, as far as one file may hold it."""
    run: list[Span] = []
    together: SizedSpan | None = None
    for file in files:
        more = file if together is None else together.with_more(file)
        if together is not None and (together.span.end != file.span.first or not more.fits):
            yield from _several(run)
            run, more = [], file
        run.append(file.span)
        together = more
    yield from _several(run)


def _several(run: list[Span]) -> Iterator[list[Span]]:
    if len(run) > 1:
        yield run


class InRun(NamedTuple):
    """A file that waits for neighbours of its size: how many there are up to it, all from the first on as one, and that
    one's place."""

    file: SizedSpan
    files: int
    together: SizedSpan
    first: int


def by_size(files: Iterable[SizedSpan]) -> Iterator[list[Span]]:
    """FAN neighbours of one size, from left to right; what they become may be part of a later one. Smaller files
    between them go with them: nothing is missing on either side, so that no neighbours of their own size will come."""
    left: list[InRun] = []
    for file in files:
        left.append(_behind(left, file))
        while left[-1].files == FAN:
            run, merged = [each.file.span for each in left[left[-1].first :]], left[-1].together
            del left[left[-1].first :]
            yield run
            left.append(_behind(left, merged))


def _behind(left: Sequence[InRun], file: SizedSpan) -> InRun:
    """Whether a file goes on with the run of one of its size, or begins one."""
    size, more = _size_class(file.rows), file
    for before in reversed(left):
        if before.file.span.end != more.span.first or _size_class(before.file.rows) > size:
            break
        if _size_class(before.file.rows) == size:
            together = before.together.with_more(more)
            if not together.fits:
                break
            return InRun(file, before.files + 1, together, before.first)
        more = before.file.with_more(more)
    return InRun(file, 1, file, len(left))


def _size_class(rows: int) -> int:
    return int(math.log(max(rows, 1), FAN))
