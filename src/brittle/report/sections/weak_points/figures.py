"""Figures of weak points: where they lead, which parameters they move, and how chains walked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from numpy.typing import NDArray

from brittle.report.page.colours import OKABE_ITO
from brittle.report.page.figures import WIDTH, short, svg
from brittle.report.sections.weak_points.draws import Columns, Row

MOST_CLASSES, MOST_BARS = 20, 20
LONGEST_NAME = 24  # letters
PRIOR, POSTERIOR = "#8a8a8a", "#D55E00"
UNTRUSTED = "#9c1f0a"
# White to Okabe & Ito's blue and on to dark: read by lightness alone.
RISING = LinearSegmentedColormap.from_list("rising", ["#ffffff", "#a9d0e8", "#0072B2", "#00304d"])

Numbers = NDArray[Any]


class Panel(NamedTuple):
    """One parameter: its name with unit, draws of the prior and of the posterior, pooled over images."""

    name: str
    prior: Numbers
    posterior: Numbers


def flow_matrix(flows: Sequence[Row]) -> tuple[list[int], list[int], Numbers] | None:
    """Labels from (r,) and to (c,) with the shares (r, c), which sum to 1; None where there are too many labels."""
    if len({flow[end] for flow in flows for end in ("from", "to")}) > MOST_CLASSES:
        return None
    rows, columns = (sorted({flow[end] for flow in flows}) for end in ("from", "to"))
    shares = np.zeros((len(rows), len(columns)))
    for flow in flows:
        shares[rows.index(flow["from"]), columns.index(flow["to"])] += flow["share"]
    return rows, columns, shares


def flow_figure(key: str, flows: Sequence[Row], names: Sequence[str]) -> Markup:
    """Label → label: a matrix, or where labels are many the strongest flows as bars."""
    matrix = flow_matrix(flows)
    strongest = ", ".join(f"{names[f['from']]} → {names[f['to']]} {_percent(f['share'])}" for f in flows[:5])
    about = f"Where weak points lead, label to label; the strongest: {strongest}"
    if matrix is None:
        return _flow_bars(key, flows[:MOST_BARS], names, about)
    rows, columns, shares = matrix

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        greatest = float(shares.max())
        axes.pcolormesh(shares, cmap=RISING, vmin=0, vmax=greatest, edgecolors="#e4e4e4", linewidth=0.6)
        for (row, column), share in np.ndenumerate(shares):
            if share > 0:
                ink = "white" if share > 0.45 * greatest else "#222222"
                axes.text(column + 0.5, row + 0.5, _percent(share), ha="center", va="center", color=ink, fontsize=9)
        long = max(len(names[label]) for label in columns) * len(columns) > 75
        axes.set_xticks(
            np.arange(len(columns)) + 0.5,
            [short(names[label], LONGEST_NAME) for label in columns],
            rotation=35 if long else 0,
            ha="right" if long else "center",
            rotation_mode="anchor" if long else None,
        )
        axes.set_yticks(np.arange(len(rows)) + 0.5, [short(names[label], LONGEST_NAME) for label in rows])
        axes.tick_params(length=0)
        axes.invert_yaxis()
        axes.set_xlabel("label that the classifier gives instead")
        axes.set_ylabel("label of the image")
        for side in axes.spines.values():
            side.set_visible(False)

    return svg(key, (WIDTH, 1.3 + 0.36 * len(rows)), about, draw)


def _flow_bars(key: str, flows: Sequence[Row], names: Sequence[str], about: str) -> Markup:
    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        shares = [100 * flow["share"] for flow in flows]
        axes.barh(range(len(flows)), shares, 0.7, color=OKABE_ITO[0], alpha=0.75, linewidth=0)
        for place, flow in enumerate(flows):
            axes.text(shares[place], place, f" {_percent(flow['share'])}", va="center", fontsize=9)
        axes.set_yticks(
            range(len(flows)),
            [f"{short(names[f['from']], LONGEST_NAME)} → {short(names[f['to']], LONGEST_NAME)}" for f in flows],
        )
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(flows) - 0.5, -0.5)
        axes.set_xlim(0, 1.1 * max(shares))
        axes.set_xlabel("share of all weak points of another label, %")
        axes.grid(axis="x")
        axes.set_axisbelow(True)

    return svg(key, (WIDTH, 0.8 + 0.27 * len(flows)), about, draw)


def _percent(share: float) -> str:
    return "< 1 %" if 100 * share < 0.5 else f"{100 * share:.0f} %"


def marginal_figure(key: str, panels: Sequence[Panel], images: int) -> Markup:
    """Small multiples: each parameter in the prior (grey) and in the weak points (line)."""
    columns = min(4, len(panels))
    rows = math.ceil(len(panels) / columns)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        for axes, panel in zip(grid.flat, panels, strict=False):
            _marginal(axes, panel)
        handles, words = grid.flat[0].get_legend_handles_labels()
        figure.legend(handles, words, loc="outside upper left", ncols=2, frameon=False, fontsize=9)

    about = f"Prior and weak points of {', '.join(panel.name for panel in panels)}, pooled over {images} images"
    return svg(key, (WIDTH, 0.45 + 1.75 * rows), about, draw)


def _marginal(axes: Axes, panel: Panel) -> None:
    both = np.concatenate((panel.prior, panel.posterior))
    low, high = np.quantile(both, [0.005, 0.995])  # zooms have long tails
    if np.all(panel.prior == np.rint(panel.prior)) and high - low <= 64:
        # What the prior draws whole, a real number of a sampler's stands for the nearest whole one of.
        edges = np.arange(math.floor(low), math.ceil(high) + 2) - 0.5
    else:
        edges = np.linspace(low, high if high > low else low + 1, 33)
    bins = edges.tolist()
    axes.hist(panel.prior, bins, density=True, color=PRIOR, alpha=0.4, linewidth=0, label="prior")
    axes.hist(panel.posterior, bins, density=True, histtype="step", color=POSTERIOR, linewidth=1.5, label="weak points")
    axes.set_xlabel(panel.name, fontsize=9)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.tick_params(labelsize=8)


class Trace(NamedTuple):
    """The chains of one image: k kept draws, each of a chain and a step."""

    title: str
    chain: Numbers  # (k,)
    step: Numbers  # (k,)
    columns: Columns  # the parameters that are shown, (k,) each


def trace_figure(key: str, traces: Sequence[Trace]) -> Markup:
    """Kept draws against the step of the chain: a row per image (its title), a column per parameter, a line per
    chain."""
    names = list(traces[0].columns)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(len(traces), len(names), squeeze=False, sharex=True, sharey="col")
        for row, trace in enumerate(traces):
            for axes, name in zip(grid[row], names, strict=True):
                for chain in np.unique(trace.chain):
                    here = trace.chain == chain
                    colour = OKABE_ITO[int(chain) % len(OKABE_ITO)]
                    axes.plot(trace.step[here], trace.columns[name][here], color=colour, linewidth=0.8, alpha=0.8)
                axes.tick_params(labelsize=8)
                if row == len(traces) - 1:
                    axes.set_xlabel("step after burn-in", fontsize=9)
                axes.set_ylabel(name, fontsize=9)
            grid[row][0].set_title(trace.title, fontsize=9, loc="left")

    about = f"Chains of {', '.join(each.title for each in traces)}: {', '.join(names)} against the step"
    return svg(key, (WIDTH, 0.3 + 1.6 * len(traces)), about, draw)
