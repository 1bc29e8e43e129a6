"""How to read a figure whose section says nothing of it: from the marks that are in it."""

from __future__ import annotations

from collections.abc import Iterator

from brittle.report.blocks.figure import Band, Bars, Cells, Figure, Intervals, Line, Points, Rule

_MARKS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((Line,), "Lines join the values at neighbouring points"),
    ((Points,), "points are values"),
    ((Bars,), "the length of a bar is its value"),
    ((Cells,), "the colour of a square is its value, as the bar beside it says"),
    ((Intervals,), "whiskers are intervals"),
    ((Band,), "shaded bands are intervals"),
    ((Rule,), "straight lines across are marks to compare with"),
)


def reading_of(figure: Figure) -> str:
    """A sentence."""
    said = "; ".join(_said(figure))
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def _said(figure: Figure) -> Iterator[str]:
    marks = [mark for panel in figure.panels for mark in panel.marks]
    for kinds, text in _MARKS:
        if any(isinstance(mark, kinds) for mark in marks):
            yield text
    if any(panel.x.log or panel.y.log for panel in figure.panels):
        yield "an axis is logarithmic: equal steps are equal factors"
