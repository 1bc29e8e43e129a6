"""Accuracy under shifts against accuracy without (CNS-Bench 2025, figure 23), how the line changes with severity
(figures 20 to 22), and what is left of it (figure 24)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from brittle.report.blocks.figure import Axis, Figure, Line, Mark, Panel, Points, Role, Rule, Series, category_axis
from brittle.report.blocks.text import ClassifierName
from brittle.report.page.section import Row
from brittle.report.page.words import percent, short
from brittle.report.sections.marks import chart, curve, whiskers

STEPS = (0.01, 0.02, 0.05, 0.1)  # between ticks of a probit axis
MOST_TICKS = 7
LEAST_P = 1e-4  # smaller p-values are drawn there
MOST_NAMED = 12
MOST_SHIFTS = 7
MOST_DRAWN = 24  # gains
P_VALUES = Axis(
    "p-value",
    ((1, "1"), (0.1, "0.1"), (0.01, "0.01"), (0.001, "0.001"), (LEAST_P, f"≤ {LEAST_P:g}")),
    LEAST_P / 1.5,
    1.3,
    log=True,
    grid=True,
)
CURVES = {"slope": Axis("slope", grid=True), "correlation": Axis("correlation", grid=True), "p_value": P_VALUES}


def scatter(row: Row) -> Figure:
    """A mark per model with the line through all, on plain and on probit axes; the diagonal is no loss."""
    return Figure(
        f"accuracy under shifts against accuracy without, {row['models']} models",
        (_scatter(row, "plain"), _scatter(row, "probit")),
        "A mark per model, filled where it is among the baseline; solid: the line through all; dotted: no loss.",
        height=4.6,
        legend=False,
    )


def _scatter(row: Row, axis: str) -> Panel:
    x, y = (_scaled([point[name] for point in row["points"]], axis) for name in ("accuracy", "accuracy_shifted"))
    line, pad = row["lines"][axis], 0.12 * max(float(np.ptp(x)), float(np.ptp(y)), 1e-3)
    ends = float(x.min()) - pad, float(x.max()) + pad
    marks: list[Mark] = [Line(Role("neutral"), ends, ends, "dotted", "hair")]
    if line["slope"] is not None:
        through = tuple(line["slope"] * end + line["intercept"] for end in ends)
        marks.append(Line(Role("reference"), ends, through, weight="thin"))
    for place, point in enumerate(row["points"]):
        marks.append(
            Points(
                ClassifierName(point["classifiers"][0]),
                (float(x[place]),),
                (float(y[place]),),
                hollow=point["model"] not in row["baseline"],
                texts=(point["model"],) if len(x) <= MOST_NAMED else (),
            )
        )
    probit = axis == "probit"
    low, high = float(y.min()) - pad, float(y.max()) + pad
    return Panel(
        tuple(marks),
        Axis(short(row["identical"], 48), _ticks(*ends) if probit else None, *ends, grid=True),
        Axis(
            f"accuracy under shifts{' (probit)' * probit}",
            _ticks(low, high) if probit else None,
            low,
            high,
            grid=True,
        ),
    )


def _scaled(values: Sequence[float], axis: str) -> NDArray[np.float64]:
    found = np.asarray(values, np.float64)
    return found if axis == "plain" else np.asarray(norm.ppf(np.clip(found, 1e-4, 1 - 1e-4)))


def _ticks(low: float, high: float) -> tuple[tuple[float, str], ...]:
    """Accuracies for an axis from Φ⁻¹ = low to high: as many as fit."""
    for step in STEPS:
        shown = [tick for tick in np.arange(step, 1, step).round(4).tolist() if low <= norm.ppf(tick) <= high]
        if len(shown) <= MOST_TICKS:
            break
    return tuple((float(norm.ppf(tick)), f"{tick:g}") for tick in shown)


def by_severity(every: Sequence[Row]) -> Figure:
    """Slope, correlation and p-value against severity, a line per shift. Shifts with scales of their own are drawn over
    the places on these."""
    shifts = every[:MOST_SHIFTS]
    alike = len({(shift["unit"], *shift["severities"]) for shift in shifts}) == 1
    x = Axis(shifts[0]["unit"] if alike else "place of the severity on its scale")
    cut = f" The first {MOST_SHIFTS} of {len(every)} shifts." if len(every) > MOST_SHIFTS else ""
    return Figure(
        "slope, correlation and p-value of the line against severity, under "
        + ", ".join(shift["nuisance"] for shift in shifts),
        tuple(
            Panel(tuple(mark for place, shift in enumerate(shifts) for mark in _curve(place, shift, name, alike)), x, y)
            for name, y in CURVES.items()
        ),
        "Slope with its interval, correlation and p-value of the line at every severity (figures 20 to 22 of the "
        f"paper); dashed: p = 0.05, not corrected for how many there are.{cut}",
        height=3.1,
    )


def _curve(place: int, shift: Row, name: str, alike: bool) -> list[Mark]:
    at = tuple(shift["severities"] if alike else range(1, len(shift["severities"]) + 1))
    found, who = shift["plain"], Series(place, shift["nuisance"])
    least = LEAST_P if name == "p_value" else -np.inf
    values = tuple(None if value is None else max(value, least) for value in found[name])
    if name == "slope":
        return [*curve(who, at, values, found["slope_interval"], markers=True)]
    marks: list[Mark] = [Line(who, at, values, markers=True)]
    return [*marks, Rule(0.05, "x", dash="dashed")] if name == "p_value" else marks


def gains_figure(row: Row) -> Figure | None:
    """What is left of accuracy under shifts once the line is taken away, with prediction intervals."""
    points = sorted((point for point in row["points"] if point["gain"] is not None), key=lambda point: -point["gain"])
    half = MOST_DRAWN // 2
    shown = points if len(points) <= MOST_DRAWN else points[:half] + points[-half:]
    if not shown:
        return None
    marks: list[Mark] = [Rule(0.0)]
    for place, point in enumerate(shown):
        who = ClassifierName(point["classifiers"][0])
        marks += whiskers(who, [place], [point["gain"]], [point["gain_interval"]], "x")
    count = len(row["points"])
    cut = f" Of {count} models the {MOST_DRAWN} with the highest and lowest gains." if count > MOST_DRAWN else ""
    return chart(
        "gains over the line, by model",
        marks,
        Axis("accuracy under shifts beyond the line of the other baseline models", grid=True),
        category_axis([point["model"] for point in shown], falling=True),
        "Accuracy under shifts beyond the line of the other baseline models (leave-one-out), with "
        f"{percent(row['confidence'])} intervals for a model on that line, for all {row['models']} at once: one that "
        f"does not hold 0 lies off it.{cut}",
        height=1.0 + 0.28 * len(shown),
        legend=False,
    )
