"""What tables, matrices and figures show, as CSV: names as they are in the study, and numbers with the ends of their
intervals beside them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from brittle.report.blocks import Column, Table
from brittle.report.blocks.figure import (
    Axis,
    Band,
    Bars,
    Cells,
    Figure,
    Image,
    Intervals,
    Line,
    Of,
    Panel,
    Points,
    Role,
    Rule,
)
from brittle.report.blocks.matrix import Matrix
from brittle.report.blocks.text import ClassifierName, Count, Estimate, Name, Span, TableCell, cell_spans
from brittle.report.blocks.wording import number_of, plain, span_words
from brittle.report.csv_file import as_text

Value = str | float | int | None
DRAWN = ("panel", "what", "of", "x", "y", "low", "high", "text")  # the columns of a figure's data


def as_csv(shown: Table | Matrix | Figure) -> str:
    """With a header; text that a spreadsheet would compute stays text."""
    match shown:
        case Table():
            head, rows = _table(shown)
        case Matrix():
            head, rows = _matrix(shown)
        case Figure():
            head, rows = list(DRAWN), list(_figure(shown))
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow([_written(title) for title in head])
    writer.writerows([_written(value) for value in row] for row in rows)
    return written.getvalue()


def as_table(matrix: Matrix) -> Table:
    """A matrix where there is no room to draw: a row per row, with the numbers of a square in one cell."""
    if len(matrix.columns) > len(matrix.rows):
        matrix = matrix.turned()
    names = matrix.numbers

    def cell(numbers: Sequence[Estimate]) -> tuple[Span, ...]:
        """0.617 [0.598, 0.631], ρ 0.578 [0.559, 0.591]"""
        parts = [(", " if place else "", f"{name} " if place else "", each)
                 for place, (name, each) in enumerate(zip(names, numbers, strict=True))]  # fmt: skip
        return tuple(span for part in parts for span in part if span != "")

    rows = [
        (row, *(None if each is None else cell(each.numbers) for each in squares))
        for row, squares in zip(matrix.rows, matrix.squares, strict=True)
    ]
    titles = (f"{name}: {names[0]}" for name in (str(span_words(column)) for column in matrix.columns))
    return Table((matrix.row, *titles), tuple(rows), noun=matrix.row)


def _written(value: Value) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else str(value) if isinstance(value, int) else as_text(value) or ""


def _name(span: Span) -> str:
    """What the study calls it."""
    if isinstance(span, Name):
        return span.spec
    return span.classifier if isinstance(span, ClassifierName) else str(span_words(span))


def _table(table: Table) -> tuple[list[str], list[list[Value]]]:
    titles = [plain(column.title) if isinstance(column, Column) else column for column in table.columns]
    by_column = [[_cell(row[place]) for row in table.rows] for place in range(len(titles))]
    head: list[str] = []
    columns: list[Sequence[Value]] = []
    for title, cells in zip(titles, by_column, strict=True):
        ends = any(len(cell) > 1 for cell in cells)
        head += [title, f"{title} low", f"{title} high"] if ends else [title]
        columns += list(zip_longest(*(cell if ends else cell[:1] for cell in cells), fillvalue=None)) or [()]
        columns += [[None] * len(cells)] * (len(head) - len(columns))
    return head, [list(row) for row in zip(*columns, strict=True)]


def _cell(cell: TableCell) -> list[Value]:
    """A number, with the ends of its interval where it has one; or text."""
    spans = cell_spans(cell)
    numbers = [each for each in spans if isinstance(each, (Count, Estimate))]
    if len(numbers) == 1 and all(span == "" or span is numbers[0] for span in spans):
        found = numbers[0]
        if isinstance(found, Estimate) and found.low is not None:
            return [found.value, found.low, found.high]
        return [number_of(found)]
    return ["" if cell is None else "".join(map(_name, spans))]


def _matrix(matrix: Matrix) -> tuple[list[str], list[list[Value]]]:
    """A row per square."""
    head = [matrix.row, matrix.column]
    head += [f"{name}{end}" for name in matrix.numbers for end in ("", " low", " high")]
    rows: list[list[Value]] = []
    for row, squares in zip(matrix.rows, matrix.squares, strict=True):
        for column, square in zip(matrix.columns, squares, strict=True):
            if square is not None:
                ends = [end for each in square.numbers for end in (each.value, each.low, each.high)]
                rows.append([_name(row), _name(column), *ends, *[square.tick] * bool(matrix.tick)])
    return [*head, *[matrix.tick] * bool(matrix.tick)], rows


def _figure(figure: Figure) -> Iterator[list[Value]]:
    for place, panel in enumerate(figure.panels):
        title = panel.title.replace("\n", " ") or str(place + 1)
        for mark in panel.marks:
            yield from ([title, *row] for row in _mark(mark, panel))


def _mark(mark: object, panel: Panel) -> Iterable[list[Value]]:
    """what, of, x, y, low, high, text"""
    match mark:
        case Line() | Points():
            what, texts = type(mark).__name__.lower(), mark.texts if isinstance(mark, Points) else ()
            return (
                [what, _of(mark.of), _at(panel.x, x), _at(panel.y, y), None, None, text]
                for x, y, text in zip_longest(mark.x, mark.y, texts)
                if (x, y) != (None, None)
            )
        case Bars():
            upright, axis = mark.along == "y", panel.x if mark.along == "y" else panel.y
            return (
                ["bar", _of(mark.of), *((_at(axis, at), size) if upright else (size, _at(axis, at))), start, None, text]
                for at, size, start, text in zip_longest(mark.at, mark.length, mark.start, mark.texts)
            )
        case Intervals():
            upright, axis = mark.along == "y", panel.x if mark.along == "y" else panel.y
            return (
                ["interval", _of(mark.of), *((_at(axis, at), None) if upright else (None, _at(axis, at))), *ends, None]
                for at, *ends in zip(mark.at, mark.low, mark.high, strict=True)
            )
        case Band():
            return (
                ["band", _of(mark.of), _at(panel.x, x), None, low, high, None]
                for x, low, high in zip(mark.x, mark.low, mark.high, strict=True)
            )
        case Rule():
            return [["rule", _of(mark.of), *((mark.at, None) if mark.along == "y" else (None, mark.at)), None, None,
                     mark.text]]  # fmt: skip
        case Cells():
            return _cells(mark, panel)
        case Image() | _:
            return ()


def _cells(mark: Cells, panel: Panel) -> Iterator[list[Value]]:
    heights, widths = len(mark.values), len(mark.values[0]) if mark.values else 0
    for row, values in enumerate(mark.values):
        for column, value in enumerate(values):
            x, y = (_on(ends, at, count) for ends, at, count in ((mark.x, column, widths), (mark.y, row, heights)))
            number, word = (None, value) if isinstance(value, str) else (value, None)
            if value is not None:
                yield ["value", None, _at(panel.x, x), _at(panel.y, y), number, None, word]


def _on(ends: tuple[float, float] | None, place: int, count: int) -> float:
    """Where a row or column of a map lies."""
    first, last = ends or (0.0, count - 1.0)
    return first + (last - first) * place / max(1, count - 1)


def _at(axis: Axis, value: float | None) -> Value:
    """A place on an axis: the word that stands there, where words do."""
    words = {at: word for at, word in axis.ticks or () if not word.replace(".", "").replace("−", "").isdigit()}
    return value if value is None else words.get(value, words.get(float(round(value)), value) if words else value)


def _of(of: Of) -> str:
    if isinstance(of, ClassifierName):
        return of.classifier
    return of.text or (of.role if isinstance(of, Role) else "")
