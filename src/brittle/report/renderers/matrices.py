"""A matrix as the page shows it: the shorter side across, and squares that say less where there are many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from brittle.report.blocks.matrix import Matrix, Square
from brittle.report.blocks.text import Span
from brittle.report.blocks.wording import plain

ROOMY = 4  # columns up to which intervals stand in the squares
NEVER = -1.0  # where nothing is known: sorted below all else


class ShownSquare(NamedTuple):
    """A square with what its drawing needs, in percent."""

    square: Square | None
    sorted_by: float
    style: str
    about: str  # all of it in words


class ShownRow(NamedTuple):
    name: Span
    squares: list[ShownSquare]


class ShownMatrix(NamedTuple):
    matrix: Matrix
    compact: bool
    rows: list[ShownRow]


def shown_matrix(matrix: Matrix) -> ShownMatrix:
    turned = matrix.turned() if len(matrix.columns) > len(matrix.rows) else matrix
    return ShownMatrix(turned, len(turned.columns) > ROOMY, list(_rows(turned)))


def _rows(matrix: Matrix) -> Iterator[ShownRow]:
    for name, squares in zip(matrix.rows, matrix.squares, strict=True):
        yield ShownRow(name, [_shown(matrix, each) for each in squares])


def _shown(matrix: Matrix, square: Square | None) -> ShownSquare:
    first = square.numbers[0] if square is not None else None
    if square is None or first is None or first.value is None:
        return ShownSquare(None, NEVER, "", "nothing is known")
    low, high = (first.value if end is None else end for end in (first.low, first.high))
    drawn = {"v": first.value, "l": low, "h": high}
    said = [f"{name} {plain((each,))}" for name, each in zip(matrix.numbers, square.numbers, strict=True)]
    if square.tick is not None:
        drawn["t"] = square.tick
        said.append(f"{matrix.tick} {square.tick:.3f}")
    style = ";".join(f"--{name}:{100 * value:.1f}" for name, value in drawn.items())
    return ShownSquare(square, first.value, style, "; ".join(said))
