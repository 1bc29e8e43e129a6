"""How losses fell while sliders or words were trained."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from brittle.measures.training_losses import Curve
from brittle.report.blocks.figure import Axis, Band, Figure, Line, Mark, Role, Series
from brittle.report.page.words import percent
from brittle.report.sections.marks import chart

MOST_NAMED = 7  # curves; of more, where most of them lie
MIDDLE = 0.9
MOST_TICKS = 8
LOG_FROM = 5.0  # greatest over least value, from which on an axis is logarithmic


def loss_figure(curves: Mapping[str, Curve], what: str) -> Figure:
    """Curves by name; `what` they are of in words, such as "sliders"."""
    names = list(curves)
    low, high = min(_values(curves)), max(_values(curves))
    few = len(names) <= MOST_NAMED
    ends = ", ".join(f"{name} {curves[name][0][1]:.3g} to {curves[name][-1][1]:.3g}" for name in names[:MOST_NAMED])
    reading = "Each value is the mean over neighbouring steps."
    if not few:
        reading = f"The median of {len(names):,} {what}, and where the middle {percent(MIDDLE)} of them lie. {reading}"
    return chart(
        f"Loss over training steps of {len(names):,} {what}: {ends}{'' if few else ', …'}",
        [*_named(curves)] if few else _together(list(curves.values())),
        Axis("step", low=0),
        _axis(low, high),
        reading,
        height=3.4,
    )


def _axis(low: float, high: float) -> Axis:
    """Logarithmic where losses fall by much."""
    if not 0 < LOG_FROM * low < high:
        return Axis("loss", low=0, grid=True)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    ticks = tuple((value, f"{value:g}") for value in values if low / 2 <= value <= high * 2)
    return Axis("loss", ticks[:: -(-len(ticks) // MOST_TICKS)], low / 1.3, high * 1.3, log=True, grid=True)


def _values(curves: Mapping[str, Curve]) -> list[float]:
    return [loss for curve in curves.values() for _, loss in curve]


def _named(curves: Mapping[str, Curve]) -> list[Mark]:
    return [
        Line(Series(place, name), tuple(float(step) for step, _ in curve), tuple(loss for _, loss in curve))
        for place, (name, curve) in enumerate(curves.items())
    ]


def _together(curves: Sequence[Curve]) -> list[Mark]:
    """All are as long: one training has one number of steps."""
    steps = tuple(float(step) for step, _ in curves[0])
    losses = np.array([[loss for _, loss in curve] for curve in curves])
    low, middle, high = np.quantile(losses, [(1 - MIDDLE) / 2, 0.5, (1 + MIDDLE) / 2], axis=0)
    of = Role("posterior")
    band = Band(of, steps, tuple(low.tolist()), tuple(high.tolist()))
    return [band, Line(of, steps, tuple(middle.tolist()))]
