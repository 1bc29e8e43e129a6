"""Figures drawn with matplotlib: the one place that knows colours, widths and fonts of marks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LinearSegmentedColormap, Normalize, to_rgba
from matplotlib.figure import Figure as Canvas
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, NullLocator
from numpy.typing import NDArray

from brittle.report.blocks import Block, Group
from brittle.report.blocks.figure import (
    Axis,
    Band,
    Bars,
    Cells,
    Figure,
    Image,
    Intervals,
    Line,
    Mark,
    Of,
    Panel,
    Points,
    Role,
    Rule,
    Series,
)
from brittle.report.blocks.text import ClassifierName
from brittle.report.page.colours import DASHES, ClassifierLook
from brittle.report.page.pictures import from_uri
from brittle.report.page.words import short
from brittle.report.renderers.canvas import WIDTH, ReportFigure, drawn, svg

NAMED = 24  # letters of a name in a legend or on an axis
INK, SOFT, UNTRUSTED = "#222222", "#555555", "#9c1f0a"
ON_LIGHT, ON_DARK = "#212121", "#fefefe"  # on a map, whose colours are the same on a dark page
VIOLET, RIGHT, WRONG = "#9a5fb5", "#00593f", "#9c1f0a"
# None of these is a classifier's colour: one colour means one thing on a page.
ROLES = {
    "prior": ClassifierLook("#8a8a8a", "o", "-"),
    "posterior": ClassifierLook(VIOLET, "o", "-"),
    "reference": ClassifierLook("#444444", "o", "-"),
    "neutral": ClassifierLook("#888888", "o", "-"),
    "wrong": ClassifierLook("#bbbbbb", "o", "-"),
    "better": ClassifierLook(RIGHT, "o", "-"),
    "worse": ClassifierLook(WRONG, "o", "-"),
    "first": ClassifierLook("#8a8a8a", "o", "--"),
    "second": ClassifierLook(VIOLET, "o", "-"),
}
# Of things without a name, such as shifts: Paul Tol's muted palette, colour-blind safe.
SERIES = ("#332288", "#88CCEE", "#44AA99", "#117733", "#999933", "#DDCC77", "#882255")
WIDTHS = {"hair": 0.8, "thin": 1.2, "normal": 1.5, "thick": 3.0}
DASHED: Mapping[str, Any] = {"solid": "-", "dashed": (0, (4, 3)), "dotted": (0, (1, 2))}
FILLED: Mapping[str, Any] = {"-": "full", "--": "none", ":": "left", "-.": "top"}  # where colours repeat
# Read by lightness alone: white over violet to dark, and the same backwards.
_VIOLETS = ["#fdfdfe", "#d8c4e4", VIOLET, "#35124a"]
SCALES: Mapping[str, Colormap | str] = {
    "rising": LinearSegmentedColormap.from_list("rising", _VIOLETS),
    "falling": LinearSegmentedColormap.from_list("falling", ["#35124a", VIOLET, "#d8c4e4", "#f8f4fb"]),
    "accuracy": "cividis",
    "diverging": "PuOr_r",
}
WORDS = ("#F0E442", "#d9d9d9", "#8c6d46")  # for words in place of a value, in the order in which they occur
NUMBERED_SQUARES = 400  # up to so many, squares of a map have edges
Looks = Mapping[str, ClassifierLook]


def figures_in(blocks: Sequence[Block]) -> Iterator[Figure]:
    for block in blocks:
        if isinstance(block, Figure):
            yield block
        elif isinstance(block, Group):
            yield from figures_in(block.blocks)


def as_svg(key: str, figure: Figure, looks: Looks) -> Markup:
    """An inline <svg>; `key` keeps its ids apart from those of others."""
    return svg(key, as_drawn(figure, looks), figure.alt)


def as_drawn(figure: Figure, looks: Looks) -> ReportFigure:
    """A figure of matplotlib."""
    columns = figure.columns or len(figure.panels)
    lines = math.ceil(len(figure.panels) / columns)
    size = WIDTH, 0.3 * bool(figure.legend) + figure.height * lines
    return drawn(size, lambda canvas: _Drawing(canvas, looks).draw(figure, lines, columns))


class _Drawing:
    """Draws one figure."""

    def __init__(self, canvas: Canvas, looks: Looks) -> None:
        self.canvas, self.looks = canvas, looks
        self.words: dict[str, str] = {}  # in maps, with their colours
        self.legend: dict[str, Any] = {}

    def draw(self, figure: Figure, lines: int, columns: int) -> None:
        share: dict[str, Any] = {
            "sharex": figure.share in ("x", "both"),
            "sharey": "row" if figure.share == "rows" else figure.share in ("y", "both"),
        }
        polar: dict[str, Any] = {"projection": "polar"} if figure.panels[0].polar else {}
        ratios: dict[str, Any] = {"height_ratios": figure.heights} if figure.heights else {}
        grid = self.canvas.subplots(lines, columns, squeeze=False, subplot_kw=polar, **share, **ratios)
        if any(panel.x.slanted for panel in figure.panels):  # whose words the layout takes for shorter than they are
            self.canvas.set_layout_engine("constrained", h_pad=0.1)
        for axes in grid.flat[len(figure.panels) :]:
            axes.set_visible(False)
        small = len(figure.panels) > 3 or figure.panels[0].polar
        for place, (axes, panel) in enumerate(zip(grid.flat, figure.panels, strict=False)):
            self._panel(axes, panel, small)
            if place % columns and figure.share in ("y", "rows", "both"):
                axes.set_ylabel("")
        self._colour_bars(grid, figure.panels)
        if self.words:
            handles = [Patch(color=colour, label=word) for word, colour in self.words.items()]
            self.canvas.legend(handles=handles, loc="outside upper right", ncols=3, frameon=False, fontsize=9)
        if figure.legend and self.legend:
            self.canvas.legend(
                list(self.legend.values()), list(self.legend), loc="outside lower center", ncols=4, frameon=False
            )

    def _panel(self, axes: Axes, panel: Panel, small: bool) -> None:
        for mark in panel.marks:
            self._mark(axes, mark)
        if panel.title:
            axes.set_title(panel.title, fontsize=9 if small else 10, color=UNTRUSTED if panel.untrusted else "black")
        _axis(axes, "x", panel.x, small)
        _axis(axes, "y", panel.y, small)
        self._beside(axes, panel)
        axes.set_axisbelow(True)
        if panel.equal:
            axes.set_aspect("equal")
        if any(isinstance(mark, (Cells, Image)) for mark in panel.marks):
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
            for own in (axes.xaxis.get_major_locator(), axes.yaxis.get_major_locator()):
                if isinstance(own, MaxNLocator):
                    own.set_params(nbins=5)

    def _mark(self, axes: Axes, mark: Mark) -> None:
        match mark:
            case Line():
                self._line(axes, mark)
            case Points():
                self._points(axes, mark)
            case Bars():
                self._bars(axes, mark)
            case Intervals():
                self._intervals(axes, mark)
            case Band():
                look = self._look(mark.of)
                x, low, high = map(_numbers, (mark.x, mark.low, mark.high))
                steps: Any = "post" if mark.step else None
                axes.fill_between(x, low, high, step=steps, color=look.colour, alpha=0.14, linewidth=0)
            case Rule():
                look, style = self._look(mark.of), DASHED.get(mark.dash) or self._look(mark.of).dashes
                draw = axes.axvline if mark.along == "y" else axes.axhline
                draw(mark.at, color=look.colour, linewidth=0.9, linestyle=style, zorder=1)
                if mark.text:
                    above = axes.get_xaxis_transform()
                    axes.text(mark.at, 1.02, mark.text, transform=above, ha="center", fontsize=8, color=SOFT)
            case Cells():
                self._cells(axes, mark)
            case Image():
                self._image(axes, mark)

    def _look(self, of: Of) -> ClassifierLook:
        match of:
            case ClassifierName():
                return self.looks[of.classifier]
            case Role():
                return ROLES[of.role]
            case Series():
                count = len(SERIES)
                return ClassifierLook(SERIES[of.place % count], "o", DASHES[of.place // count % len(DASHES)])

    def _named(self, of: Of, handle: Any) -> None:
        """Puts whom a mark is about into the legend, once."""
        text = of.text or of.classifier if isinstance(of, ClassifierName) else of.text
        if text:
            self.legend.setdefault(short(text, NAMED), handle)

    def _line(self, axes: Axes, mark: Line) -> None:
        look = self._look(mark.of)
        style = look.dashes if mark.dash == "own" else DASHED[mark.dash]
        steps = {"": "default", "level": "steps-post", "middle": "steps-mid"}[mark.step]
        (drawn,) = axes.plot(
            _numbers(mark.x), _numbers(mark.y), color=look.colour, linestyle=style, linewidth=WIDTHS[mark.weight],
            marker=look.marker if mark.markers else None, markersize=4.5, alpha=0.5 if mark.faint else 1.0,
            drawstyle=steps,
        )  # fmt: skip
        if mark.dash == "own":
            self._named(mark.of, drawn)

    def _points(self, axes: Axes, mark: Points) -> None:
        look = self._look(mark.of)
        shape = {"own": look.marker, "dot": ".", "cross": "x", "plus": "+"}[mark.shape]
        filling: dict[str, Any] = {"fillstyle": FILLED[look.dashes]}
        if mark.hollow:
            filling = {"markerfacecolor": "white"}
        size = {"own": 5.5, "dot": 4.0, "cross": 6.0, "plus": 8.0}[mark.shape]
        x, y = _numbers(mark.x), _numbers(mark.y)
        (drawn,) = axes.plot(
            x, y, shape, color=look.colour, markersize=size, alpha=0.6 if mark.faint else 1.0, **filling
        )
        if mark.shape == "own":
            self._named(mark.of, drawn)

    def _beside(self, axes: Axes, panel: Panel) -> None:
        """The texts of points, on the side where there is room."""
        middle = sum(axes.get_xlim()) / 2
        for mark in panel.marks:
            for text, x, y in zip(mark.texts, mark.x, mark.y, strict=False) if isinstance(mark, Points) else ():
                if x is None or y is None:
                    continue
                right = x > middle
                axes.annotate(
                    short(text, 20), (x, y), xytext=(-6 if right else 6, -10), ha="right" if right else "left",
                    textcoords="offset points", fontsize=8, color="#444444",
                )  # fmt: skip

    def _bars(self, axes: Axes, mark: Bars) -> None:
        look = self._look(mark.of)
        at, length = _numbers(mark.at), _numbers(mark.length)
        start = _numbers(mark.start) if mark.start else np.zeros(len(at))
        draw = axes.bar if mark.along == "y" else axes.barh
        base: dict[str, Any] = {"bottom" if mark.along == "y" else "left": start}
        hatch: dict[str, Any] = {"hatch": "////", "edgecolor": "#888888"} if mark.hatched else {"edgecolor": "white"}
        drawn = draw(at, length, mark.width, color=look.colour, alpha=0.75, linewidth=0.6, **base, **hatch)
        for bar, opacity in zip(drawn, mark.faint, strict=False):
            bar.set_alpha(opacity)
        self._named(mark.of, drawn[0] if len(drawn) else drawn)
        for text, place, low, size in zip(mark.texts, at, start, length, strict=False):
            end = low + size / 2 if mark.texts_on else low + size
            x, y = (place, end) if mark.along == "y" else (end, place)
            beyond = {"ha": "center", "va": "bottom"} if mark.along == "y" else {"ha": "left", "va": "center"}
            where: dict[str, Any] = {"ha": "center", "va": "center"} if mark.texts_on else beyond
            axes.text(x, y, text if mark.texts_on else f" {text}", fontsize=9, color=INK, **where)

    def _intervals(self, axes: Axes, mark: Intervals) -> None:
        look = self._look(mark.of)
        at, low, high = map(_numbers, (mark.at, mark.low, mark.high))
        draw = axes.vlines if mark.along == "y" else axes.hlines
        opacity = {"hair": 0.7, "thin": 0.9, "normal": 0.6, "thick": 0.35}[mark.weight]
        draw(at, low, high, color=look.colour, linewidth=WIDTHS[mark.weight], alpha=opacity)
        if mark.caps:
            for ends in (low, high):
                places = (at, ends) if mark.along == "y" else (ends, at)
                axes.plot(*places, "_" if mark.along == "y" else "|", color=look.colour, markersize=7)

    def _image(self, axes: Axes, mark: Image) -> None:
        picture = from_uri(mark.uri)
        x, y = (_edges(ends, count) for ends, count in ((mark.x, picture.shape[1]), (mark.y, picture.shape[0])))
        grey: dict[str, Any] = {"cmap": "gray", "vmin": 0, "vmax": 255}
        shown = 128 + np.atleast_3d(picture).mean(-1) / 2 if mark.faint else picture
        axes.imshow(shown, **grey, **_spread(x, y))

    def _cells(self, axes: Axes, mark: Cells) -> None:
        values = np.array([[v if isinstance(v, (int, float)) else np.nan for v in row] for row in mark.values], float)
        x, y = _edges(mark.x, values.shape[1]), _edges(mark.y, values.shape[0])
        scale = ScalarMappable(Normalize(mark.low, mark.high), SCALES[mark.scale])
        colours = scale.to_rgba(np.ma.masked_invalid(values))
        if mark.over:
            colours[..., 3] = np.clip(2 * np.abs(values) / max(abs(mark.low), abs(mark.high), 1e-9), 0, 0.85)
        for word in dict.fromkeys((*mark.words, *(v for row in mark.values for v in row if isinstance(v, str)))):
            colour = self.words.setdefault(word, WORDS[len(self.words) % len(WORDS)])
            colours[[[v == word for v in row] for row in mark.values]] = to_rgba(colour)
        if values.size <= NUMBERED_SQUARES and not mark.over:
            axes.pcolormesh(x, y, colours, edgecolors="#e4e4e4", linewidth=0.5)
        else:
            axes.imshow(colours, **_spread(x, y))
        for (line, column), value in np.ndenumerate(values):
            if mark.texts and (text := mark.texts[line][column]):
                dark = sum(scale.to_rgba(value)[:3]) < 1.5
                middle = (x[column] + x[column + 1]) / 2, (y[line] + y[line + 1]) / 2
                axes.text(*middle, text, ha="center", va="center", color=ON_DARK if dark else ON_LIGHT, fontsize=9)

    def _colour_bars(self, grid: NDArray[Any], panels: Sequence[Panel]) -> None:
        """One bar for all maps on the same scale."""
        labelled: dict[tuple[Any, ...], list[Axes]] = {}
        for axes, panel in zip(grid.flat, panels, strict=False):
            for mark in panel.marks:
                if isinstance(mark, Cells) and mark.label:
                    labelled.setdefault((mark.label, mark.scale, mark.low, mark.high), []).append(axes)
        for (label, scale, low, high), together in labelled.items():
            made = ScalarMappable(Normalize(low, high), SCALES[scale])
            bar = self.canvas.colorbar(made, ax=together, shrink=0.85, pad=0.01)
            bar.set_label(label, fontsize=9)


def _axis(axes: Axes, name: str, axis: Axis, small: bool) -> None:
    own = axes.xaxis if name == "x" else axes.yaxis
    limits, place = (axes.set_xlim, axes.set_xticks) if name == "x" else (axes.set_ylim, axes.set_yticks)
    if axis.log:
        (axes.set_xscale if name == "x" else axes.set_yscale)("log")
        own.set_minor_locator(NullLocator())
    if axis.ticks is not None:
        place([at for at, _ in axis.ticks], [short(word, NAMED) for _, word in axis.ticks])
        if any(not word.replace(".", "").isdigit() for _, word in axis.ticks) and len(axis.ticks) and not axis.slanted:
            own.set_tick_params(length=0)
    elif not axis.label and axis.low is None:
        place([])
        axes.spines["left" if name == "y" else "bottom"].set_visible(False)
    if axis.slanted:
        for label in own.get_ticklabels():
            label.set(rotation=38, ha="right", rotation_mode="anchor")
    low, high = limits(axis.low, axis.high)
    if axis.falling:
        limits(high, low)
    if axis.label:
        own.set_label_text(axis.label, fontsize=9 if small else 10)
    own.set_tick_params(labelsize=8 if small else 10)
    if axis.grid:
        axes.grid(axis="x" if name == "x" else "y")


def _edges(ends: tuple[float, float] | None, count: int) -> NDArray[np.float64]:
    """Edges of squares around the first to the last of a grid."""
    first, last = ends or (0.0, count - 1.0)
    half = (last - first) / max(1, count - 1) / 2 or 0.5
    return np.linspace(first - half, last + half, count + 1)


def _spread(x: NDArray[np.float64], y: NDArray[np.float64]) -> dict[str, Any]:
    """How a picture fills a grid with these edges, the first row at the first y."""
    return {"extent": (x[0], x[-1], y[0], y[-1]), "origin": "lower", "aspect": "auto", "interpolation": "none"}


def _numbers(values: Sequence[float | None]) -> NDArray[np.float64]:
    return np.array([np.nan if value is None else value for value in values], np.float64)
