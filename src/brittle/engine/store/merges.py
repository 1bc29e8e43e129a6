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
LARGEST = 1 << 22  # rows in a merged file


class SizedSpan(NamedTuple):
    """Units that one file holds, and how many rows."""

    span: Span
    rows: int


def when_finished(files: Iterable[SizedSpan]) -> Iterator[list[Span]]:
    """Everything that lies together, as far as one file may hold it."""
    run: list[SizedSpan] = []
    filled = 0
    for file in files:
        if run and (run[-1].span.end != file.span.first or filled + file.rows > LARGEST):
            yield from _several(run)
            run, filled = [], 0
        run.append(file)
        filled += file.rows
    yield from _several(run)


def _several(run: Sequence[SizedSpan]) -> Iterator[list[Span]]:
    if len(run) > 1:
        yield [file.span for file in run]


class InRun(NamedTuple):
    """A file that waits for neighbours of its size: how many there are up to it, the rows of all from the first on, and
    that one's place."""

    file: SizedSpan
    files: int
    rows: int
    first: int


def by_size(files: Iterable[SizedSpan]) -> Iterator[list[Span]]:
    """FAN neighbours of one size, from left to right; what they become may be part of a later one. Smaller files
    between them go with them: nothing is missing on either side, so that no neighbours of their own size will come."""
    left: list[InRun] = []
    for file in files:
        left.append(_behind(left, file))
        while left[-1].files == FAN:
            run = [each.file for each in left[left[-1].first :]]
            del left[left[-1].first :]
            yield [each.span for each in run]
            merged = Span(run[0].span.first, run[-1].span.end)
            left.append(_behind(left, SizedSpan(merged, sum(each.rows for each in run))))


def _behind(left: Sequence[InRun], file: SizedSpan) -> InRun:
    """Whether a file goes on with the run of one of its size, or begins one."""
    size, at, rows = _size_class(file.rows), file.span.first, file.rows
    for before in reversed(left):
        if before.file.span.end != at or _size_class(before.file.rows) > size:
            break
        if _size_class(before.file.rows) == size:
            if before.rows + rows > LARGEST:
                break
            return InRun(file, before.files + 1, before.rows + rows, before.first)
        at, rows = before.file.span.first, rows + before.file.rows
    return InRun(file, 1, file.rows, len(left))


def _size_class(rows: int) -> int:
    return int(math.log(max(rows, 1), FAN))
