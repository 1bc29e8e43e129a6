"""Figures of perturbations: matrices (UREM, figure 8), bubbles (figure 6), accuracy against ε, risk and coverage."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from matplotlib.colors import LinearSegmentedColormap, ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from brittle.measures.perturbation.sizes import Sizes
from brittle.report.page.colours import Look
from brittle.report.page.figures import WIDTH, short, svg
from brittle.statistics.selective import risk_coverage

Numbers = NDArray[np.float64]
# Dark where little is needed, light where much is, as in the paper; failures are yellow there and here.
RISING = LinearSegmentedColormap.from_list("change", ["#00304d", "#0072B2", "#a9d0e8", "#f4f9fc"])
FAILED, NOTHING = "#F0E442", "#d9d9d9"
NAMED_CLASSES = 20  # past this many an axis has numbers
MARKED = (4, 8)  # of 255
MOST_LEVEL = 64  # of 255, where the axis of ε ends


class Bubble(NamedTuple):
    """One image: what it is, and the change (K,) towards each class per classifier; NaN for none, inf for failures."""

    title: str
    changes: Mapping[str, Numbers]


def matrix_figure(key: str, matrices: Mapping[str, Numbers], names: Mapping[str, Sequence[str]]) -> Markup:
    """A panel per classifier on one scale: rows are images, one per class; columns are targets."""
    finite = np.concatenate([each[np.isfinite(each)] for each in matrices.values()])
    most = 100 * float(finite.max()) if len(finite) else 1.0
    columns = min(2 if max(map(len, matrices.values())) > 8 else 3, len(matrices))
    lines = math.ceil(len(matrices) / columns)

    def draw(figure: Figure) -> None:
        figure.set_layout_engine("constrained", h_pad=0.1)
        grid = figure.subplots(lines, columns, squeeze=False)
        for axes in grid.flat[len(matrices) :]:
            axes.set_visible(False)
        mesh = None
        for axes, (classifier, values) in zip(grid.flat, matrices.items(), strict=False):
            classes = len(values)
            edge = {"edgecolors": "white", "linewidth": 0.4} if classes <= NAMED_CLASSES else {}
            shown = np.ma.masked_invalid(100 * values)
            mesh = axes.pcolormesh(shown, cmap=RISING, vmin=0, vmax=most, rasterized=classes > 64, **edge)
            for there, colour in ((np.isinf(values), FAILED), (np.isnan(values), NOTHING)):
                cells = np.ma.masked_where(~there, np.ones_like(values))
                axes.pcolormesh(cells, cmap=ListedColormap([colour]), rasterized=classes > 64, **edge)
            axes.set_title(short(classifier), fontsize=10, loc="left")
            axes.invert_yaxis()
            axes.set_aspect("equal")
            axes.tick_params(length=0, labelsize=8)
            if classes <= NAMED_CLASSES:
                words = [short(name, 14) for name in names[classifier]]
                axes.set_xticks(np.arange(classes) + 0.5, words, rotation=45, ha="right", rotation_mode="anchor")
                axes.set_yticks(np.arange(classes) + 0.5, words)
            axes.set_xlabel("target", fontsize=9)
            axes.set_ylabel("class of the image", fontsize=9)
        if mesh is not None:
            figure.colorbar(mesh, ax=grid, label="L∞ of the change, % of the value range", shrink=0.8, pad=0.01)
        handles = [Patch(color=FAILED, label="never reached"), Patch(color=NOTHING, label="not searched")]
        figure.legend(handles=handles, loc="outside upper right", ncols=2, frameon=False, fontsize=9)

    told = "; ".join(f"{name}: {_spread(values)}" for name, values in matrices.items())
    height = 0.6 + lines * (4.1 if columns > 1 else 5.4)
    return svg(key, (WIDTH, height), f"Perturbation matrices, in % of the value range. {told}", draw)


def _spread(values: Numbers) -> str:
    finite, failed = values[np.isfinite(values)], int(np.isinf(values).sum())
    if not len(finite):
        return f"no change found, {failed} failures"
    low, middle, high = (100 * np.quantile(finite, share) for share in (0, 0.5, 1))
    return f"{low:.2f} to {high:.2f}, median {middle:.2f}, {failed} failures"


def bubble_figure(key: str, bubbles: Sequence[Bubble], names: Sequence[str], looks: Mapping[str, Look]) -> Markup:
    """Polar: an angle per class, the radius the change needed towards it."""
    columns = min(3, len(bubbles))
    lines = math.ceil(len(bubbles) / columns)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(lines, columns, squeeze=False, subplot_kw={"projection": "polar"})
        for axes in grid.flat[len(bubbles) :]:
            axes.set_visible(False)
        finite = [v for each in bubbles for c in each.changes.values() for v in c[np.isfinite(c)]]
        rim = 110 * max(finite, default=0.01)
        for axes, bubble in zip(grid.flat, bubbles, strict=False):
            for name, changes in bubble.changes.items():
                look, angle = looks[name], 2 * np.pi * np.arange(len(changes)) / len(changes)
                there = np.isfinite(changes)
                around = np.append(np.flatnonzero(there), np.flatnonzero(there)[:1])
                style = {"color": look.colour, "linestyle": look.dashes}
                axes.plot(angle[around], 100 * changes[around], linewidth=1.4, **style)
                if len(changes) <= 60:
                    axes.plot(angle[there], 100 * changes[there], look.marker, color=look.colour, markersize=3.5)
                failed = np.isinf(changes)
                axes.plot(angle[failed], np.full(failed.sum(), rim), "x", color=look.colour, markersize=6)
            axes.set_ylim(0, rim)
            axes.set_title(short(bubble.title), fontsize=9)
            axes.tick_params(labelsize=7)
            if len(names) <= NAMED_CLASSES:
                axes.set_xticks(2 * np.pi * np.arange(len(names)) / len(names), [short(n, 11) for n in names])
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g} %")
        shown = dict.fromkeys(name for each in bubbles for name in each.changes)
        handles = [Line2D([], [], color=looks[n].colour, marker=looks[n].marker, label=short(n)) for n in shown]
        figure.legend(handles=handles, loc="outside upper left", ncols=len(handles), frameon=False, fontsize=9)

    about = f"Changes needed towards each class for {', '.join(each.title for each in bubbles)}"
    return svg(key, (WIDTH, 0.4 + 3.4 * lines), about, draw)


def accuracy_figure(
    key: str, found: Mapping[str, Sizes], rows: Sequence[Mapping[str, Any]], looks: Mapping[str, Look]
) -> Markup:
    """The share of images that are right and that no change found so far of at most ε moves."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for row in rows:
            sizes, look = found[row["classifier"]], looks[row["classifier"]]
            ends = np.sort(np.where(sizes.correct, sizes.left, -1.0))
            grid = np.concatenate(([0.0], np.unique(ends[(ends > 0) & np.isfinite(ends)]), [1.0]))
            right = np.array([(ends > epsilon).mean() for epsilon in grid])
            axes.step(
                255 * grid,
                right,
                where="post",
                color=look.colour,
                linestyle=look.dashes,
                label=short(row["classifier"]),
            )
            for each in row["accuracy"]:
                low, high = each["interval"]
                axes.plot([255 * each["epsilon"]] * 2, [low, high], color=look.colour, linewidth=3, alpha=0.3)
        for level in MARKED:
            axes.axvline(level, color="#777777", linewidth=0.9, linestyle=":")
            axes.text(level, 1.02, f"{level}/255", ha="center", va="bottom", fontsize=8, color="#555555")
        axes.set_xlim(0, MOST_LEVEL)
        axes.set_ylim(0, 1)
        axes.set_xlabel("ε, on the scale of 0 to 255")
        axes.set_ylabel("accuracy at most")
        axes.grid(axis="y")
        axes.legend(frameon=False, fontsize=9)

    told = ", ".join(f"{row['classifier']} {row['accuracy'][0]['accuracy']:.3f} untouched" for row in rows)
    return svg(key, (WIDTH, 3.2), f"Upper bounds on robust accuracy against ε: {told}", draw)


def risk_figure(key: str, found: Mapping[str, Sizes]) -> Markup:
    """Risk among the images that are kept, by the least change and by the greatest probability."""
    columns = min(3, len(found))
    lines = math.ceil(len(found) / columns)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(lines, columns, squeeze=False, sharey=True)
        for axes in grid.flat[len(found) :]:
            axes.set_visible(False)
        for axes, (name, sizes) in zip(grid.flat, found.items(), strict=False):
            scores = (
                ("least change", sizes.smallest(), "#D55E00", "-"),
                ("greatest probability", sizes.max_softmax, "#0072B2", "--"),
            )
            for label, score, colour, dashes in scores:
                curve = risk_coverage(score, ~sizes.correct)
                axes.plot(curve.coverage, curve.risk, color=colour, linestyle=dashes, label=label)
            axes.set_title(short(name), fontsize=10, loc="left")
            axes.set_xlabel("share of images kept", fontsize=9)
            axes.set_ylabel("errors among them", fontsize=9)
            axes.grid(axis="y")
        grid.flat[0].set_ylim(bottom=0)
        figure.legend(
            *grid.flat[0].get_legend_handles_labels(), loc="outside upper right", ncols=2, frameon=False, fontsize=9
        )

    return svg(key, (WIDTH, 0.4 + 2.6 * lines), f"Risk against coverage of {', '.join(found)}", draw)
