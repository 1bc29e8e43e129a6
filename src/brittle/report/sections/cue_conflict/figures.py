"""The figure of cue conflict: shape bias by class (Geirhos et al. 2019, figure 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup
from matplotlib.figure import Figure

from brittle.report.page.colours import Look
from brittle.report.page.figures import WIDTH, short, svg
from brittle.report.sections.shares import Row, share

GREY = "#8a8a8a"  # people, and models of which only decisions are given
MOST_SHOWN = 8  # classifiers in a figure


def bias_figure(key: str, rows: Sequence[Row], also: Sequence[Row], looks: Mapping[str, Look]) -> Markup:
    """A line per class, a mark per classifier with its interval, and its overall shape bias as an upright line."""
    shown = rows[:MOST_SHOWN]
    names = [each["class"] for each in shown[0]["per_class"]]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        step = 0.7 / len(shown)
        for place, row in enumerate(shown):
            look = looks[row["classifier"]]
            for line, each in enumerate(row["per_class"]):
                if each["shape_bias"] is None:
                    continue
                y = line - 0.35 + (place + 0.5) * step
                if each["shape_bias_interval"] is not None:
                    axes.plot(each["shape_bias_interval"], [y, y], color=look.colour, alpha=0.35, linewidth=1.6)
                axes.plot([each["shape_bias"]], [y], look.marker, color=look.colour, markersize=4.5, clip_on=False)
            if row["shape_bias"] is not None:
                axes.axvline(row["shape_bias"], color=look.colour, linestyle=look.dashes, linewidth=1.1, zorder=0)
        for each in also:
            bias = each["shape_bias"]
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

    told = ", ".join(f"{row['classifier']} {share(row['shape_bias'])}" for row in shown)
    return svg(key, (WIDTH, 1.2 + 0.36 * len(names)), f"shape bias by class; overall {told}", draw)
