"""The figures of the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from found import MAIN
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from work import read_table

DPI = 110
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#8A8A8A")
MARKS = "osD^v<>P"
Rows = list[dict[str, Any]]


def all_plots(found: Path, out: Path) -> list[str]:
    """Every figure that there are tables for."""
    made = []
    for name, draw in (("kept", kept), ("diffusion", diffusion), ("real", real), ("ways-curves", ways), ("gap", gap)):
        if draw(found, out / f"{name}-plot.png"):
            made.append(f"{name}-plot.png")
    return made


def kept(found: Path, out: Path) -> bool:
    """Figure 3: accuracy along the scale, by which images are kept."""
    rows = [row for row in read_table(found, "drops") if row["classifier"] == MAIN]
    return _by_shift(rows, "kept", "accuracy", "accuracy", out)


def diffusion(found: Path, out: Path) -> bool:
    """Figure 14: the drop of each classifier."""
    return _by_shift(read_table(found, "diffusion-curves"), "classifier", "drop", "drop", out)


def ways(found: Path, out: Path) -> bool:
    """How much of the picture stays, by the way of making a shift."""
    return _by_shift(read_table(found, "ways-curves"), "way", "structure", "correlation with scale 0", out)


def real(found: Path, out: Path) -> bool:
    """Figure 5: accuracy along the scale, and on really shifted images as a dashed line."""
    rows = [row for row in read_table(found, "oodcv-accuracy") if row["classifier"] == MAIN]
    if not rows:
        return False
    generated = [row for row in rows if row["images"] == "generated"]
    lines = {row["shift"]: row for row in rows if row["images"] == "real"}
    figure, (axes,) = _panels(1, 6.0, 4.0)
    for place, shift in enumerate(dict.fromkeys(row["shift"] for row in generated)):
        _curve(axes, [row for row in generated if row["shift"] == shift], "accuracy", place, shift)
        if shift in lines:
            axes.axhline(lines[shift]["accuracy"], color=COLOURS[place], linestyle="--", linewidth=1)
    axes.axhline(lines["clean"]["accuracy"], color="#8A8A8A", linestyle=":", linewidth=1)
    axes.set_xlabel("scale; dashed: real images under the corruption, dotted: clean")
    axes.set_ylabel("accuracy")
    return _saved(figure, out, axes)


def gap(found: Path, out: Path) -> bool:
    """Table 2a: distance and accuracy with and without learned words."""
    rows = [row for row in read_table(found, "gap") if row["classifier"] == MAIN]
    if not rows:
        return False
    names = list(dict.fromkeys(row["distance_is"] for row in rows))
    figure, panels = _panels(len(names) + 1, 3.6, 3.0)
    for axes, name in zip(panels, names, strict=False):
        own = [row for row in rows if row["distance_is"] == name]
        _bars(axes, own, "distance")
        axes.axhline(own[0]["floor"], color="#8A8A8A", linestyle=":", label="between real images")
        axes.set_title(name.replace("Fréchet distance in the features of ", "Fréchet distance, "), fontsize=10)
    own = [row for row in rows if row["distance_is"] == names[0]]
    _bars(panels[-1], own, "accuracy")
    panels[-1].axhline(own[0]["accuracy_on_real"], color="#8A8A8A", linestyle=":")
    panels[-1].set_title(f"accuracy of {MAIN}", fontsize=10)
    return _saved(figure, out, panels[0])


def _bars(axes: Axes, rows: Rows, name: str) -> None:
    for place, row in enumerate(rows):
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        ends = None if low is None else [[max(0.0, row[name] - low)], [max(0.0, high - row[name])]]
        axes.bar(place, row[name], yerr=ends, color=COLOURS[place], width=0.6, capsize=3)
    axes.set_xticks(range(len(rows)), [row["way"] for row in rows])
    axes.set_ylim(0)


def _by_shift(rows: Rows, key: str, name: str, label: str, out: Path) -> bool:
    if not rows:
        return False
    shifts = list(dict.fromkeys(row["shift"] for row in rows))
    figure, panels = _panels(len(shifts))
    kinds = list(dict.fromkeys(row[key] for row in rows))
    for axes, shift in zip(panels, shifts, strict=True):
        for place, kind in enumerate(kinds):
            _curve(axes, [row for row in rows if (row["shift"], row[key]) == (shift, kind)], name, place, kind)
        axes.set_title(shift, fontsize=10)
        axes.set_xlabel("scale")
        axes.set_ylabel(label)
    return _saved(figure, out, panels[0])


def _curve(axes: Axes, rows: Rows, name: str, place: int, label: str) -> None:
    """With its interval as a band."""
    x = [row["scale"] for row in rows]
    axes.plot(x, [row[name] for row in rows], color=COLOURS[place], marker=MARKS[place], ms=4, label=label)
    ends = [(row[f"{name}_low"], row[f"{name}_high"]) for row in rows]
    low, high = (
        [row[name] if each[end] is None else each[end] for row, each in zip(rows, ends, strict=True)] for end in (0, 1)
    )
    axes.fill_between(x, low, high, color=COLOURS[place], alpha=0.12, linewidth=0)


def _panels(count: int, width: float = 4.0, height: float = 3.0) -> tuple[Figure, Sequence[Axes]]:
    columns = min(count, 3)
    figure, grid = plt.subplots(
        -(-count // columns), columns, figsize=(width * columns, height * -(-count // columns)), squeeze=False
    )
    for place, axes in enumerate(grid.flat):
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_axis_on() if place < count else axes.set_axis_off()
    return figure, list(grid.flat)[:count]


def _saved(figure: Figure, out: Path, legend_of: Axes) -> bool:
    figure.tight_layout()
    handles, names = legend_of.get_legend_handles_labels()
    if handles:
        figure.legend(handles, names, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=4, fontsize=8, frameon=False)
    figure.savefig(out, dpi=DPI, bbox_inches="tight")
    plt.close(figure)
    return True
