"""A matrix: numbers of everything in its rows with everything in its columns, such as nuisances and classifiers."""

from __future__ import annotations

from brittle.report.blocks.base import piece
from brittle.report.blocks.text import Estimate, Span, Text


@piece
class Square:
    """What a matrix says at one place. The first number, a share, is also drawn, with a tick at what it is compared
    with."""

    numbers: tuple[Estimate, ...]
    tick: float | None = None


@piece
class Matrix:
    """Rows and columns with a square for each two; None where nothing is known. A reader may sort and filter it, and a
    renderer may turn it round."""

    alt: str
    rows: tuple[Span, ...]
    columns: tuple[Span, ...]
    squares: tuple[tuple[Square | None, ...], ...]  # row by row
    numbers: tuple[str, ...]  # what the numbers of a square are called
    tick: str = ""  # what the tick is
    row: str = "nuisance"  # what a row is
    column: str = "classifier"
    reading: Text = ""

    def turned(self) -> Matrix:
        """The same with rows and columns exchanged."""
        squares = tuple(zip(*self.squares, strict=True))
        return Matrix(
            self.alt, self.columns, self.rows, squares, self.numbers, self.tick, self.column, self.row, self.reading
        )
