"""UREM's figure 7: σ* and P* against the layer, with spread and intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from brittle.report.blocks.figure import Axis, Figure, Line, Mark, Panel, Points, Rule
from brittle.report.page.section import Row
from brittle.report.page.words import percent
from brittle.report.sections.layered import apart, layer_axis, on_the_way
from brittle.report.sections.marks import chart, curve, intervals
from brittle.report.sections.tables import who


def layer_figure(rows: Sequence[Row]) -> Figure:
    """Two curves per classifier, over layers that all of them have."""
    first, axis = rows[0], layer_axis(rows[0]["layers"])
    path = sum(on_the_way(first, each) for each in first["layers"])
    end = [Rule(path - 0.5)] if path < len(first["layers"]) else []
    panels = [
        ("mean", "interval", "spread", "σ* of the noise", first["limit"]),
        ("p_star", "p_star_interval", "p_star_spread", "P* of the new label", 1.0),
    ]
    return Figure(
        f"noise on each layer at which predictions of {_names(rows)} change, and probability of the new label",
        tuple(
            Panel(
                (*end, *(mark for at in range(len(rows)) for mark in _curve(rows, at, keys, most))),
                axis,
                Axis(label, low=0, high=1.04 * most, grid=True),
            )
            for *keys, label, most in panels
        ),
        f"Points are means; thick bars are {percent(first['confidence'])} intervals, over images and for the weights "
        "over noisy networks, each holding on its own; thin bars are one standard deviation over images and repeats, "
        "the paper’s error bars.",
        columns=1,
        height=2.6,
        heights=(3, 2),
        share="x",
    )


def _names(rows: Sequence[Row]) -> str:
    return ", ".join(row["classifier"] for row in rows)


def _curve(rows: Sequence[Row], place: int, keys: Sequence[str], most: float) -> Iterator[Mark]:
    """Points joined from input to output, weights and sets apart; thin bars are the spread, thick ones the interval."""
    row, (mean, interval, spread) = rows[place], keys
    known = [(x, each) for x, each in zip(apart(rows, place), row["layers"], strict=True) if each[mean] is not None]
    joined = [(x, each[mean]) for x, each in known if on_the_way(row, each)]
    spreads = [(x, each[mean], each[spread]) for x, each in known if each[spread] is not None]
    ends = ((max(0.0, middle - width), min(most, middle + width)) for _, middle, width in spreads)
    at = tuple(x for x, _ in known)
    yield Points(who(row), at, tuple(each[mean] for _, each in known))
    yield Line(who(row), tuple(x for x, _ in joined), tuple(y for _, y in joined), weight="thin")
    yield intervals(who(row), (x for x, _, _ in spreads), ends, weight="hair")
    yield intervals(who(row), at, (each[interval] for _, each in known), weight="thick")


def depth_figure(rows: Sequence[Row]) -> Figure:
    """Mean σ* against the place between input and output, for classifiers with other layers each."""
    marks: list[Mark] = []
    for row in rows:
        known = [each for each in row["layers"] if on_the_way(row, each) and each["mean"] is not None]
        at = [each["number"] / max(1, row["last"] - 1) for each in known]
        means, ends = ([each[key] for each in known] for key in ("mean", "interval"))
        marks += curve(who(row), at, means, ends, markers=True)
    return chart(
        f"mean σ* of {_names(rows)} against the place of the layer",
        marks,
        Axis("place of the layer, from input (0) to output (1)", low=0, high=1),
        Axis("mean σ* of the noise", low=0, high=1.04 * rows[0]["limit"], grid=True),
        "The same means where classifiers have other layers each. σ is relative to what a layer gives: a lower curve "
        "is not by itself a worse network.",
        height=3.4,
    )
