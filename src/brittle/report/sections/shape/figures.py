"""Figures of shape and texture: shape bias by class (Geirhos et al. 2019, figure 4), accuracy by grid, and κ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from numpy.typing import NDArray

from brittle.report.page.colours import Look
from brittle.report.page.figures import WIDTH, short, svg
from brittle.report.sections.shape import words
from brittle.report.sections.shape.words import Row

RISING = LinearSegmentedColormap.from_list("kappa", ["#f7f7f7", "#a9d0e8", "#0072B2", "#00304d"])
GREY = "#8a8a8a"  # people, and models of which only decisions are given
MOST_SHOWN = 8  # classifiers in a figure
MOST_NUMBERED = 16  # deciders up to whom every κ is written down


def bias_figure(key: str, rows: Sequence[Row], also: Sequence[Row], looks: Mapping[str, Look]) -> Markup:
    """A line per class, a mark per classifier with its interval, and its overall shape bias as an upright line."""
    shown = rows[:MOST_SHOWN]
    names = [each["class"] for each in shown[0]["cue_conflict"]["per_class"]]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        step = 0.7 / len(shown)
        for place, row in enumerate(shown):
            look, told = looks[row["classifier"]], row["cue_conflict"]
            for line, each in enumerate(told["per_class"]):
                if each["shape_bias"] is None:
                    continue
                y = line - 0.35 + (place + 0.5) * step
                if each["shape_bias_interval"] is not None:
                    axes.plot(each["shape_bias_interval"], [y, y], color=look.colour, alpha=0.35, linewidth=1.6)
                axes.plot([each["shape_bias"]], [y], look.marker, color=look.colour, markersize=4.5, clip_on=False)
            if told["shape_bias"] is not None:
                axes.axvline(told["shape_bias"], color=look.colour, linestyle=look.dashes, linewidth=1.1, zorder=0)
        for each in also:
            bias = each["cue_conflict"]["shape_bias"]
            if bias is not None:
                axes.axvline(bias, color=GREY, linewidth=0.9, linestyle=(0, (1, 2)), zorder=0)
        for line in range(1, len(names)):
            axes.axhline(line - 0.5, color="#eeeeee", linewidth=0.8, zorder=0)
        axes.set_yticks(range(len(names)), [short(name, 20) for name in names])
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlim(0, 1)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0\ntexture", "0.25", "0.5", "0.75", "1\nshape"])
        axes.set_xlabel("shape bias: answers by shape / (by shape + by texture)")
        axes.set_ylabel("shape of the stimulus")

    told = ", ".join(f"{row['classifier']} {words.share(row['cue_conflict']['shape_bias'])}" for row in shown)
    return svg(key, (WIDTH, 1.2 + 0.36 * len(names)), f"shape bias by class; overall {told}", draw)


def shuffled_figure(key: str, rows: Sequence[Row], looks: Mapping[str, Look]) -> Markup:
    """Accuracy untouched and under each grid, with intervals."""
    shown = rows[:MOST_SHOWN]
    grids = [words.grid(each["grid"]) for each in shown[0]["shuffled"]]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        step = 0.3 / max(1, len(shown))
        for place, row in enumerate(shown):
            look = looks[row["classifier"]]
            heights = [row["accuracy_clean"], *(each["accuracy"] for each in row["shuffled"])]
            bounds = [row["accuracy_clean_interval"], *(each["accuracy_interval"] for each in row["shuffled"])]
            across = np.arange(len(heights)) - 0.15 + (place + 0.5) * step
            axes.plot(
                across, heights, look.marker, color=look.colour, linestyle=look.dashes, linewidth=1.0, markersize=4
            )
            axes.vlines(across, *zip(*bounds, strict=True), color=look.colour, linewidth=2.2, alpha=0.5)
        axes.set_xticks(range(1 + len(grids)), ["untouched", *grids])
        axes.set_xlim(-0.5, len(grids) + 0.5)
        axes.set_ylim(0, 1)
        axes.set_xlabel("patches that are shuffled")
        axes.set_ylabel("accuracy")
        axes.grid(axis="y")
        axes.set_axisbelow(True)

    told = "; ".join(
        f"{row['classifier']}: {words.share(row['accuracy_clean'])} untouched, "
        + ", ".join(f"{words.share(each['accuracy'])} at {words.grid(each['grid'])}" for each in row["shuffled"])
        for row in shown
    )
    return svg(key, (WIDTH, 3.2), f"accuracy on shuffled patches. {told}", draw)


def kappa_figure(key: str, pairs: Sequence[Row]) -> Markup:
    """Cohen's κ of every pair, as a matrix."""
    names = list(dict.fromkeys(name for pair in pairs for name in (pair["first"], pair["second"])))
    place = {name: number for number, name in enumerate(names)}
    values: NDArray[np.float64] = np.full((len(names), len(names)), np.nan)
    for pair in pairs:
        if pair["kappa"] is not None:
            values[place[pair["second"]], place[pair["first"]]] = pair["kappa"]

    share = min(1.0, 0.25 + 0.08 * len(names))

    def draw(figure: Figure) -> None:
        # The page stretches figures to its width: what a small matrix does not need stays empty.
        axes, empty = figure.subplots(1, 2, width_ratios=[share, 1.001 - share])
        empty.set_visible(False)
        below = values[1:, :-1]
        mesh = axes.pcolormesh(
            np.ma.masked_invalid(below), cmap=RISING, vmin=0, vmax=1, edgecolors="white", linewidth=1.0
        )
        if len(names) <= MOST_NUMBERED:
            for (y, x), value in np.ndenumerate(below):
                if not np.isnan(value):
                    text = f"{value:.2f}".replace("-", "−")
                    axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", color="w" if value > 0.5 else "#222222")
        axes.set_xticks(
            np.arange(len(names) - 1) + 0.5,
            [short(name, 20) for name in names[:-1]],
            rotation=30 if len(names) > 4 else 0,
            ha="right" if len(names) > 4 else "center",
        )
        axes.set_yticks(np.arange(len(names) - 1) + 0.5, [short(name, 20) for name in names[1:]])
        axes.invert_yaxis()
        axes.tick_params(length=0)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)
        figure.colorbar(mesh, ax=axes, label="κ", shrink=0.9, pad=0.02)

    told = "; ".join(f"{pair['first']} and {pair['second']} {words.kappa(pair['kappa'], None)}" for pair in pairs[:20])
    return svg(key, (WIDTH, min(9.0, 0.9 + 0.42 * len(names))), f"error consistency κ. {told}", draw)
