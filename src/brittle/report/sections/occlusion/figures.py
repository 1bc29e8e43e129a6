"""The figures of occlusion: accuracy and iOcclusion against the hidden share (figures 3 and 5 of the paper)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from brittle.report.page.colours import Look
from brittle.report.page.figures import WIDTH, short, svg
from brittle.report.sections.occlusion import words
from brittle.report.sections.occlusion.words import Model

BESIDE = 3  # nuisances in one figure
LOWEST, HIGHEST = -0.6, 2.6  # of iOcclusion, past which intervals are cut
GREY = "#bbbbbb"


def curves(key: str, columns: Mapping[str, Sequence[Model]], looks: Mapping[str, Look]) -> Markup:
    """A column per nuisance: above, accuracy on test (solid) and training images (dotted); below, iOcclusion, where
    there is any."""
    known = any(words.interplay(point)[0] is not None for point in _points(columns))

    def draw(figure: Figure) -> None:
        grid = figure.subplots(2 if known else 1, len(columns), squeeze=False, sharex=True, sharey="row")
        for place, (nuisance, found) in enumerate(columns.items()):
            _accuracy(grid[0][place], found, looks)
            grid[0][place].set_title(f"{short(nuisance, 34)}\n{found[0].row['filled_with']}", fontsize=9)
            if known:
                _interplay(grid[1][place], found, looks)
            grid[-1][place].set_xlabel("hidden share" + (" of each side" if _of_sides(found) else " of the pixels"))
        grid[0][0].set_ylabel("accuracy")
        if known:
            grid[1][0].set_ylabel("iOcclusion")
            low, high = _range(columns)
            grid[1][0].set_ylim(low, high)
        grid[0][0].set_ylim(0, 1.02)
        grid[0][0].set_xlim(0, 1)

    names = ", ".join(dict.fromkeys(model.name for found in columns.values() for model in found))
    about = f"accuracy{' and iOcclusion' if known else ''} of {names} against the hidden share: {', '.join(columns)}"
    return svg(key, (WIDTH, 6.0 if known else 3.4), about, draw)


def _accuracy(axes: Axes, found: Sequence[Model], looks: Mapping[str, Look]) -> None:
    for model in found:
        look, shares = looks[model.classifier], [0.0, *(point["share"] for point in model.points)]
        test = [model.row["accuracy_clean"], *(point["accuracy"] for point in model.points)]
        ends = [model.row["accuracy_clean_interval"], *(point["accuracy_interval"] for point in model.points)]
        axes.fill_between(
            shares, [low for low, _ in ends], [high for _, high in ends], color=look.colour, alpha=0.15, linewidth=0
        )
        axes.plot(shares, test, look.marker, color=look.colour, markersize=3.5, linestyle=look.dashes, linewidth=1.4)
        if model.row["train_set"] is not None:
            train = [model.row["train_accuracy_clean"], *(point["train_accuracy"] for point in model.points)]
            axes.plot(shares, train, color=look.colour, linestyle=(0, (1, 1.5)), linewidth=1.4)
    axes.grid(axis="y")
    axes.set_axisbelow(True)


def _interplay(axes: Axes, found: Sequence[Model], looks: Mapping[str, Look]) -> None:
    for level in (0.0, 1.0):
        axes.axhline(level, color=GREY, linewidth=0.8)
    for model in found:
        look = looks[model.classifier]
        known: list[tuple[float, Any, Any]] = [(0.0, 1.0, (1.0, 1.0))] if model.row["divisible"] else []
        known += [
            (point["share"], *words.interplay(point)) for point in model.points if words.interplay(point)[0] is not None
        ]
        if not known:
            continue
        shares = [share for share, _, _ in known]
        axes.fill_between(
            shares,
            [max(LOWEST, ends[0]) for _, _, ends in known],
            [min(HIGHEST, ends[1]) for _, _, ends in known],
            color=look.colour,
            alpha=0.13,
            linewidth=0,
        )
        axes.plot(
            shares,
            [value for _, value, _ in known],
            look.marker,
            color=look.colour,
            markersize=3.5,
            linestyle=look.dashes,
            linewidth=1.4,
        )
    axes.grid(axis="y")
    axes.set_axisbelow(True)


def _range(columns: Mapping[str, Sequence[Model]]) -> tuple[float, float]:
    """Wide enough for all values and, as far as is reasonable, for their intervals."""
    points = [words.interplay(point) for point in _points(columns)]
    values = [value for value, _ in points if value is not None]
    ends = [end for _, pair in points if pair is not None for end in pair]
    low = min([-0.2, *values, *(max(end, LOWEST) for end in ends)])
    high = max([1.2, *values, *(min(end, HIGHEST) for end in ends)])
    return low - 0.05, high + 0.05


def _points(columns: Mapping[str, Sequence[Model]]) -> list[words.Row]:
    return [point for found in columns.values() for model in found for point in model.points]


def _of_sides(found: Sequence[Model]) -> bool:
    return bool(found[0].row["share_of"] == "sides")
