"""Accuracy under shifts against accuracy without (CNS-Bench 2025, figure 23), and how the line changes with severity
(figures 20 to 22)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import norm

from brittle.report.page.colours import OKABE_ITO, Look
from brittle.report.page.figures import WIDTH, short, svg

Row = Mapping[str, Any]
STEPS = (0.01, 0.02, 0.05, 0.1)  # between ticks of a probit axis
MOST_TICKS = 7
LEAST_P = 1e-4  # smaller p-values are drawn there
MOST_NAMED = 12
MOST_SHIFTS = 7
DASHES = ("-", "--", ":", "-.")


def scatter(key: str, row: Row, looks: Mapping[str, Look]) -> Markup:
    """A mark per model with the line through all, on plain and on probit axes; the diagonal is no loss."""

    def draw(figure: Figure) -> None:
        for axes, axis in zip(figure.subplots(1, 2), ("plain", "probit"), strict=True):
            _points(axes, row, axis, looks)

    return svg(key, (WIDTH, 4.6), f"accuracy under shifts against accuracy without, {row['models']} models", draw)


def _points(axes: Axes, row: Row, axis: str, looks: Mapping[str, Look]) -> None:
    x, y = (_scaled([point[name] for point in row["points"]], axis) for name in ("accuracy", "accuracy_shifted"))
    inside = np.array([point["model"] in row["baseline"] for point in row["points"]])
    line = row["lines"][axis]
    pad = 0.12 * max(float(np.ptp(x)), float(np.ptp(y)), 1e-3)
    ends = np.array([x.min() - pad, x.max() + pad])
    axes.plot(ends, ends, color="#aaaaaa", linewidth=0.8, linestyle=(0, (1, 3)))
    if line["slope"] is not None:
        axes.plot(ends, line["slope"] * ends + line["intercept"], color="#444444", linewidth=1.2)
    for place, point in enumerate(row["points"]):
        look = looks[point["classifiers"][0]]
        filled = look.colour if inside[place] else "white"
        axes.plot(x[place], y[place], look.marker, color=look.colour, markerfacecolor=filled, markersize=6)
        if len(x) <= MOST_NAMED:
            right = x[place] > ends.mean()
            axes.annotate(
                short(point["model"], 18), (x[place], y[place]), xytext=(-6 if right else 6, -10),
                ha="right" if right else "left", textcoords="offset points", fontsize=8, color="#444444",
            )  # fmt: skip
    if axis == "probit":
        for name, values in (("x", x), ("y", y)):
            shown = _ticks(values.min() - pad, values.max() + pad)
            getattr(axes, f"set_{name}ticks")(norm.ppf(shown), [f"{tick:g}" for tick in shown])
    axes.set_xlim(*ends)
    axes.set_ylim(y.min() - pad, y.max() + pad)
    axes.set_xlabel(short(row["identical"], 48))
    axes.set_ylabel("accuracy under shifts" + (" (probit)" if axis == "probit" else ""))
    axes.grid()
    axes.set_axisbelow(True)


def _scaled(values: Sequence[float], axis: str) -> Any:
    found = np.asarray(values, np.float64)
    return found if axis == "plain" else norm.ppf(np.clip(found, 1e-4, 1 - 1e-4))


def _ticks(low: float, high: float) -> list[float]:
    """Accuracies for an axis from Φ⁻¹ = low to high: as many as fit."""
    for step in STEPS:
        shown = [tick for tick in np.arange(step, 1, step).round(4).tolist() if low <= norm.ppf(tick) <= high]
        if len(shown) <= MOST_TICKS:
            break
    return shown


def by_severity(key: str, shifts: Sequence[Row]) -> Markup:
    """Slope, correlation and p-value against severity, a line per shift. Shifts with scales of their own are drawn over
    the places on these."""
    alike = len({(shift["unit"], *shift["severities"]) for shift in shifts}) == 1

    def draw(figure: Figure) -> None:
        for axes, name in zip(figure.subplots(1, 3), ("slope", "correlation", "p_value"), strict=True):
            for place, shift in enumerate(shifts):
                at = shift["severities"] if alike else list(range(1, len(shift["severities"]) + 1))
                colour, dashes = OKABE_ITO[place % len(OKABE_ITO)], DASHES[place // len(OKABE_ITO) % len(DASHES)]
                _curve(axes, at, shift["plain"][name], name == "p_value", colour, dashes, shift["nuisance"])
                if name == "slope":
                    _band(axes, at, shift["plain"]["slope_interval"], colour)
            axes.set_ylabel({"p_value": "p-value", "slope": "slope", "correlation": "correlation"}[name])
            axes.set_xlabel(shifts[0]["unit"] if alike else "place of the severity on its scale")
            axes.grid(axis="y")
            axes.set_axisbelow(True)
            if name == "p_value":
                axes.set_yscale("log")
                axes.set_ylim(LEAST_P / 1.5, 1.3)
                axes.set_yticks([1, 0.1, 0.01, 0.001, LEAST_P], ["1", "0.1", "0.01", "0.001", f"≤ {LEAST_P:g}"])
                axes.minorticks_off()
                axes.axhline(0.05, color="#888888", linewidth=0.8, linestyle=(0, (4, 3)))
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)

    names = ", ".join(shift["nuisance"] for shift in shifts)
    return svg(key, (WIDTH, 3.4), f"slope, correlation and p-value of the line against severity, under {names}", draw)


def _curve(
    axes: Axes, at: Sequence[float], values: Sequence[float | None], p_value: bool, colour: str, dashes: str, name: str
) -> None:
    shown = [(x, max(y, LEAST_P) if p_value else y) for x, y in zip(at, values, strict=True) if y is not None]
    if shown:
        axes.plot(
            *zip(*shown, strict=True), "o", linestyle=dashes, color=colour, markersize=4, label=short(name, 24)
        )  # fmt: skip


def _band(axes: Axes, at: Sequence[float], intervals: Sequence[Sequence[float] | None], colour: str) -> None:
    ends = [(x, *each) for x, each in zip(at, intervals, strict=True) if each is not None]
    if ends:
        x, low, high = zip(*ends, strict=True)
        axes.fill_between(x, low, high, color=colour, alpha=0.12, linewidth=0)


def gains_figure(key: str, row: Row, looks: Mapping[str, Look], most: int) -> Markup:
    """What is left of accuracy under shifts once the line is taken away (figure 24), with prediction intervals."""
    points = sorted((point for point in row["points"] if point["gain"] is not None), key=lambda point: -point["gain"])
    shown = points if len(points) <= most else points[: most // 2] + points[-(most // 2) :]
    if not shown:
        return Markup()

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for place, point in enumerate(shown):
            look = looks[point["classifiers"][0]]
            axes.plot(point["gain_interval"], [place] * 2, color=look.colour, linewidth=1.4, alpha=0.55)
            axes.plot([point["gain"]], [place], look.marker, color=look.colour, markersize=5.5)
        axes.axvline(0, color="#888888", linewidth=0.8)
        axes.set_yticks(range(len(shown)), [short(point["model"], 28) for point in shown])
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.set_xlabel("accuracy under shifts beyond the line of the other baseline models")
        axes.grid(axis="x")
        axes.set_axisbelow(True)

    return svg(key, (WIDTH, 1.0 + 0.28 * len(shown)), "gains over the line, by model", draw)
