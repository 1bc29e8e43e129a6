"""What figures of several sections have: curves with their bands, points with their whiskers, one panel of marks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from brittle.report.blocks.figure import Axis, Band, Figure, Intervals, Line, Mark, Of, Panel, Points
from brittle.report.blocks.text import Text

Ends = Iterable[Sequence[float | None] | None]
Values = Iterable[float | None]


def lows_and_highs(ends: Ends) -> tuple[tuple[float | None, ...], tuple[float | None, ...]]:
    """Both ends of intervals; None where there is none."""
    found = [each or (None, None) for each in ends]
    return tuple(low for low, _ in found), tuple(high for _, high in found)


def curve(of: Of, at: Values, values: Values, ends: Ends, *, step: Any = "", **line: Any) -> Iterator[Mark]:
    """A line, and a band from end to end."""
    x = tuple(at)
    yield Band(of, x, *lows_and_highs(ends), step=step)
    yield Line(of, x, tuple(values), step=step, **line)


def intervals(of: Of, at: Values, ends: Ends, along: Any = "y", **more: Any) -> Intervals:
    """An interval at each place."""
    return Intervals(of, tuple(at), *lows_and_highs(ends), along, **more)


def whiskers(of: Of, at: Values, values: Values, ends: Ends, along: Any = "y", **more: Any) -> Iterator[Mark]:
    """Points with their intervals, along y or along x."""
    places, numbers = tuple(at), tuple(values)
    yield intervals(of, places, ends, along, **more)
    yield Points(of, places, numbers) if along == "y" else Points(of, numbers, places)


def chart(alt: str, marks: Iterable[Mark], x: Axis, y: Axis, reading: Text = "", **more: Any) -> Figure:
    """A figure of one panel."""
    return Figure(alt, (Panel(tuple(marks), x, y),), reading, **more)
