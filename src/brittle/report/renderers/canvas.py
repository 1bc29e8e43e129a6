"""Figures as inline SVG, drawn with matplotlib; pyplot's global state is untouched."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import matplotlib as mpl
from markupsafe import Markup, escape
from matplotlib.figure import Figure

# What a figure takes from the page, which may be light or dark; everything else keeps its colour.
OF_THE_PAGE = {
    "--ink": ("#000000", "#222222"),
    "--soft": ("#444444", "#555555", "#666666"),
    "--line": ("#e4e4e4",),
    "--paper": ("#ffffff",),
    "--right": ("#00593f",),
    "--wrong": ("#9c1f0a",),
}
WIDTH = 9.6  # inches: as wide as the page

# Text stays text: it can be searched and read aloud, and a report of a hundred figures stays small. Names come from
# users, so `$` must not start a formula. The layout is made with the font matplotlib brings along; the page's own,
# which is narrower, is put in its place by the style sheet.
STYLE = {
    "svg.fonttype": "none",
    "font.family": ["DejaVu Sans"],
    "font.size": 10,
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#666666",
    "axes.linewidth": 0.8,
    "axes.labelcolor": "#222222",
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.8,
}


@contextmanager
def styled(**more: str) -> Iterator[None]:
    """Within it, matplotlib draws in the report's style. Its own defaults come first: a matplotlibrc of the current
    folder, which may be anybody's, could have text set by LaTeX."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update({**STYLE, **more})  # type: ignore[dict-item]
        yield


class ReportFigure(Figure):
    """A figure of the report, which notebooks show as it is."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        with styled():
            self.savefig(buffer, format="png", dpi=100)
        return buffer.getvalue()


def drawn(size: tuple[float, float], draw: Callable[[Figure], None]) -> ReportFigure:
    """A figure, `size` in inches."""
    with styled():
        figure = ReportFigure(figsize=size, layout="constrained")
        draw(figure)
    return figure


def svg(key: str, figure: ReportFigure, about: str) -> Markup:
    """An accessible inline <svg>. `about` describes it in words; `key` keeps its ids apart from those of other figures,
    and makes them repeatable."""
    with warnings.catch_warnings(), styled(**{"svg.hashsalt": key}):
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the reader's browser has the font for it
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(<image\b[^>]*?) id="[^"]*"', r"\1", text)  # pictures that are alike have the same one
    text = re.sub(r'((?:\bid="|href="#|url\(#))', rf"\g<1>{key}-", text)
    for name, colours in OF_THE_PAGE.items():
        text = re.sub(f"(fill|stroke): ?(?:{'|'.join(colours)})", rf"\1: var({name})", text)
    text = re.sub(r' (?:width|height)="[\d.]+pt"', "", text, count=2)
    return Markup(text.replace("<svg", f'<svg role="img" aria-label="{escape(about)}"', 1))
