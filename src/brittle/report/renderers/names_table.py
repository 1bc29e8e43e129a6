"""Tables of names and numbers that a narrow terminal can show: names are broken between words, numbers never, and
where that is not enough each name has a line of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

UNBOUNDED = 1 << 16  # columns of a console as wide as anyone likes
INDENT, PADDING, LEAST_NAME = "   ", 2, 8
_BREAKS = re.compile(r"(?<=[\s:,=/_+-])(?=[^\s\d])")  # behind a separator, and not before a number


class FoldedName(NamedTuple):
    """A name such as affine:alpha=50,metric=image, on several lines where it must be."""

    text: str

    @property
    def pieces(self) -> list[str]:
        return _BREAKS.split(self.text)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(max(map(cell_len, self.pieces)), cell_len(self.text))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = [""]
        for piece in self.pieces:
            if lines[-1] and cell_len(lines[-1] + piece) > options.max_width:
                lines.append("")
            lines[-1] += piece
        yield Text("\n".join(lines), overflow="fold")


class NamesTable(Table):
    """A table without lines, whose first `names` columns are names and the others numbers."""

    def __init__(self, *columns: str, names: int) -> None:
        super().__init__(box=None, padding=(0, 1, 0, 1), header_style="dim")
        self.names = names
        for column in columns:
            self.add_column(column, no_wrap=len(self.columns) >= names)

    def add_row(self, *cells: RenderableType | None, **more: Any) -> None:
        named = [FoldedName(cell) if isinstance(cell, str) else cell for cell in cells[: self.names]]
        super().add_row(*named, *cells[self.names :], **more)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for place, column in enumerate(self.columns):
            least = LEAST_NAME if place < self.names else 0
            column.min_width = max(least, *(_least(each) for each in (column.header, *column.cells)))
        if sum((column.min_width or 0) + PADDING for column in self.columns) <= options.max_width:
            yield from super().__rich_console__(console, options)
        else:
            yield from self._stacked()

    def _stacked(self) -> Iterator[Text]:
        """The names of each row on a line of their own, and its numbers, in columns, on the next."""
        numbers = [[_text(each) for each in (column.header, *column.cells)] for column in self.columns[self.names :]]
        widths = [max(map(cell_len, column)) for column in numbers]
        heads, *rows = zip(*numbers, strict=True) if numbers else [()] * (self.row_count + 1)
        names = zip(*(map(_text, column.cells) for column in self.columns[: self.names]), strict=True)
        titles = [" · ".join(filter(None, each)) for each in names] or [""] * len(rows)
        yield Text(_aligned(heads, widths), style="dim", no_wrap=True, overflow="ignore")
        for before, (title, row) in zip([None, *titles], zip(titles, rows, strict=True), strict=False):
            if title != before:
                yield Text(title, no_wrap=True, overflow="ignore")
            yield Text(_aligned(row, widths), no_wrap=True, overflow="ignore")


def _aligned(cells: tuple[str, ...], widths: list[int]) -> str:
    padded = (f"{cell}{' ' * (width - cell_len(cell))}" for cell, width in zip(cells, widths, strict=True))
    return f"{INDENT}{'  '.join(padded)}".rstrip()


def _least(cell: RenderableType) -> int:
    """How wide a cell must be: a name's longest piece, or all of a number."""
    return max(map(cell_len, cell.pieces if isinstance(cell, FoldedName) else [_text(cell)]))


def _text(cell: RenderableType) -> str:
    return cell.text if isinstance(cell, FoldedName) else cell.plain if isinstance(cell, Text) else str(cell)
