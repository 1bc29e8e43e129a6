"""The figure of error consistency: κ of every pair, as a matrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from numpy.typing import NDArray

from brittle.report.page.figures import WIDTH, short, svg
from brittle.report.sections.error_consistency import words
from brittle.report.sections.shares import Row

RISING = LinearSegmentedColormap.from_list("kappa", ["#f7f7f7", "#a9d0e8", "#0072B2", "#00304d"])
MOST_NUMBERED = 16  # deciders up to whom every κ is written down


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
