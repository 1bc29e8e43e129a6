"""Figures as data: panels with axes and marks. A mark names whom it is about, never a colour."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from brittle.report.blocks.base import piece
from brittle.report.blocks.text import ClassifierName, Text

Numbers = tuple[float | None, ...]  # None: nothing there
Weight = Literal["hair", "thin", "normal", "thick"]
Dash = Literal["own", "solid", "dashed", "dotted"]  # own: that of the classifier or series
Direction = Literal["x", "y"]


@piece
class Role:
    """What is not a classifier's: how it looks follows from what it is."""

    role: Literal["prior", "posterior", "reference", "neutral", "wrong", "better", "worse", "first", "second"]
    text: str = ""  # in the legend


@piece
class Series:
    """One of several things without a name of their own in the report, such as shifts or chains, by its place."""

    place: int
    text: str = ""


Of = ClassifierName | Role | Series


@piece
class Line:
    """Points joined; `level` steps keep a value until the next one, `middle` steps change it halfway."""

    of: Of
    x: Numbers
    y: Numbers
    dash: Dash = "own"
    weight: Weight = "normal"
    markers: bool = False
    step: Literal["", "level", "middle"] = ""
    faint: bool = False


@piece
class Points:
    """Marks; `hollow` ones are not filled, `texts` stand beside them."""

    of: Of
    x: Numbers
    y: Numbers
    shape: Literal["own", "dot", "cross", "plus"] = "own"
    hollow: bool = False
    texts: tuple[str, ...] = ()
    faint: bool = False


@piece
class Bars:
    """Bars of some lengths from `start` on (0 by default) at places across, upright or along x; `texts` stand on
    them, or behind their ends."""

    of: Of
    at: Numbers
    length: Numbers
    start: Numbers = ()
    width: float = 0.8
    along: Direction = "y"
    texts: tuple[str, ...] = ()
    texts_on: bool = False
    faint: tuple[float, ...] = ()  # opacity of each
    hatched: bool = False


@piece
class Intervals:
    """From low to high along y (or x), at places on the other axis."""

    of: Of
    at: Numbers
    low: Numbers
    high: Numbers
    along: Direction = "y"
    weight: Weight = "normal"
    caps: bool = False


@piece
class Band:
    """The area between low and high; `level` steps keep a value until the next one."""

    of: Of
    x: Numbers
    low: Numbers
    high: Numbers
    step: Literal["", "level"] = ""


@piece
class Rule:
    """A line across the whole panel where x (or y) has a value."""

    at: float
    along: Direction = "y"  # y: upright, at a value of x
    of: Of = Role("neutral")
    dash: Dash = "solid"
    text: str = ""


@piece
class Cells:
    """A map of values, row by row: (row, column) fills the square around x = column, y = row, or the grid from the
    first to the last of `x` and `y`. A word in place of a value is a kind of its own, told in the legend; None is
    empty."""

    values: tuple[tuple[float | str | None, ...], ...]
    low: float = 0.0
    high: float = 1.0
    scale: Literal["rising", "falling", "accuracy", "diverging"] = "rising"
    x: tuple[float, float] | None = None
    y: tuple[float, float] | None = None
    texts: tuple[tuple[str, ...], ...] = ()
    label: str = ""  # of the colour bar; none without
    words: tuple[str, ...] = ()  # that stand in place of values, in the order of their colours
    over: bool = False  # lets what is beneath show where values are near 0


@piece
class Image:
    """A picture behind the marks: its pixels are squares around the grid from the first to the last of `x` and `y`."""

    uri: str
    x: tuple[float, float]
    y: tuple[float, float]
    faint: bool = False


Mark = Line | Points | Bars | Intervals | Band | Rule | Cells | Image


@piece
class Axis:
    """What an axis is called and reaches; `ticks` are places with words. Without label and ticks it is not drawn."""

    label: str = ""
    ticks: tuple[tuple[float, str], ...] | None = None
    low: float | None = None
    high: float | None = None
    log: bool = False
    falling: bool = False  # the greatest value comes first: below, or at the left
    grid: bool = False
    slanted: bool = False  # long words


@piece
class Panel:
    """Marks on common axes."""

    marks: tuple[Mark, ...]
    x: Axis = Axis()
    y: Axis = Axis()
    title: str = ""
    untrusted: bool = False
    polar: bool = False
    equal: bool = False  # one unit is as long on both axes


@piece
class Figure:
    """Panels side by side, `columns` in a row; `alt` says in words what is to be seen, `reading` how to read it."""

    alt: str
    panels: tuple[Panel, ...]
    reading: Text = ""
    columns: int = 0  # 0: all in one row
    height: float = 3.2  # inches of a row of panels, as wide as the page (9.6) together
    heights: tuple[float, ...] = ()  # of each row, relative
    share: Literal["", "x", "y", "both", "rows"] = ""  # axes in common
    legend: bool = True


def category_axis(names: Iterable[str], label: str = "", *, falling: bool = False, slanted: bool = False) -> Axis:
    """An axis of names at 0, 1, 2, …; `falling`, where the first stands on top."""
    ticks = tuple((float(place), name) for place, name in enumerate(names))
    return Axis(label, ticks, -0.5, len(ticks) - 0.5, falling=falling, slanted=slanted)
