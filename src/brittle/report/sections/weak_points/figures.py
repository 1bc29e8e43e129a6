"""Figures of weak points: where they lead, which parameters they move, and how chains walked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.report.blocks.figure import Axis, Bars, Cells, Figure, Line, Mark, Panel, Role, Series, category_axis
from brittle.report.page.section import Row
from brittle.report.sections.marks import chart
from brittle.report.sections.weak_points.draws import Columns

MOST_CLASSES, MOST_BARS = 20, 20
LETTERS = 75  # of all labels along an axis; past these they are slanted

Numbers = NDArray[Any]


class Marginal(NamedTuple):
    """One parameter: its name with unit, draws of the prior and of the posterior, pooled over images."""

    name: str
    prior: Numbers
    posterior: Numbers


def flow_matrix(flows: Sequence[Row]) -> tuple[list[str], list[str], Numbers] | None:
    """Labels from (r,) and to (c,) with the shares (r, c), which sum to 1; None where there are too many labels."""
    if len({flow[end] for flow in flows for end in ("from", "to")}) > MOST_CLASSES:
        return None
    starts, ends = (dict(sorted((flow[end], flow[f"{end}_label"]) for flow in flows)) for end in ("from", "to"))
    shares = np.zeros((len(starts), len(ends)))
    for flow in flows:
        shares[list(starts).index(flow["from"]), list(ends).index(flow["to"])] += flow["share"]
    return list(starts.values()), list(ends.values()), shares


def flow_figure(flows: Sequence[Row]) -> Figure:
    """Label → label: a matrix, or where labels are many the strongest flows as bars."""
    matrix = flow_matrix(flows)
    strongest = ", ".join(f"{_flow(flow)} {_percent(flow['share'])}" for flow in flows[:5])
    about = f"Where weak points lead, label to label; the strongest: {strongest}"
    if matrix is None:
        return _flow_bars(flows[:MOST_BARS], about)
    starts, ends, shares = matrix
    cells = Cells(
        tuple(map(tuple, shares.tolist())),
        high=float(shares.max()),
        texts=tuple(tuple(_percent(share) if share > 0 else "" for share in row) for row in shares.tolist()),
    )
    slanted = max(map(len, ends)) * len(ends) > LETTERS
    x = category_axis(ends, "label that the classifier gives instead", slanted=slanted)
    y = category_axis(starts, "label of the image", falling=True)
    reading = "Of all weak points on which another label is given, the share that leads from the row to the column."
    return chart(about, [cells], x, y, reading, height=1.3 + 0.36 * len(starts))


def _flow_bars(flows: Sequence[Row], about: str) -> Figure:
    shares = tuple(100 * flow["share"] for flow in flows)
    at = tuple(map(float, range(len(flows))))
    bars = Bars(Role("first"), at, shares, width=0.7, along="x", texts=tuple(_percent(flow["share"]) for flow in flows))
    x = Axis("share of all weak points of another label, %", low=0.0, high=1.1 * max(shares), grid=True)
    y = category_axis(map(_flow, flows), falling=True)
    reading = "Of all weak points on which another label is given, the share that leads from one label to another."
    return chart(about, [bars], x, y, reading, height=0.8 + 0.27 * len(flows))


def _flow(flow: Row) -> str:
    return f"{flow['from_label']} → {flow['to_label']}"


def _percent(share: float) -> str:
    return "< 1 %" if 100 * share < 0.5 else f"{100 * share:.0f} %"


def marginal_figure(panels: Sequence[Marginal], images: int) -> Figure:
    """Small multiples: each parameter in the prior (grey) and in the weak points (line)."""
    return Figure(
        f"Prior and weak points of {', '.join(panel.name for panel in panels)}, pooled over {images} images",
        tuple(map(_marginal, panels)),
        "Where the line of the weak points rises above the grey of the prior, the classifier breaks more often than "
        "its prior alone explains. Densities: areas compare, heights of different panels do not.",
        columns=min(4, len(panels)),
        height=1.75,
    )


def _marginal(found: Marginal) -> Panel:
    both = np.concatenate((found.prior, found.posterior))
    low, high = np.quantile(both, [0.005, 0.995])  # zooms have long tails
    if np.all(found.prior == np.rint(found.prior)) and high - low <= 64:
        # What the prior draws whole, a real number of a sampler's stands for the nearest whole one of.
        edges = np.arange(math.floor(low), math.ceil(high) + 2) - 0.5
    else:
        edges = np.linspace(low, high if high > low else low + 1, 33)
    prior, posterior = (np.histogram(each, edges, density=True)[0].tolist() for each in (found.prior, found.posterior))
    sides, middles = edges.tolist(), ((edges[:-1] + edges[1:]) / 2).tolist()
    return Panel(
        (
            Bars(
                Role("prior", "prior"),
                tuple(middles),
                tuple(prior),
                width=sides[1] - sides[0],
                faint=(0.4,) * len(prior),
            ),
            Line(Role("posterior", "weak points"), (sides[0], *sides), (0.0, *posterior, 0.0), step="level"),
        ),
        Axis(found.name, low=sides[0], high=sides[-1]),
    )


class ChainTrace(NamedTuple):
    """The chains of one image: k kept draws, each of a chain and a step."""

    title: str
    badge: str
    chain: Numbers  # (k,)
    step: Numbers  # (k,)
    columns: Columns  # the parameters that are shown, (k,) each


def trace_figure(traces: Sequence[ChainTrace]) -> Figure:
    """Kept draws against the step of the chain: a row per image (its title), a column per parameter, a line per
    chain."""
    names = list(traces[0].columns)
    steps = ends([trace.step for trace in traces])
    reach = {name: ends([trace.columns[name] for trace in traces]) for name in names}
    panels = [
        Panel(
            tuple(_chains(trace, name)),
            Axis("step after burn-in", None, *steps) if trace is traces[-1] else Axis("", (), *steps),
            Axis(name, None, *reach[name]),
            trace.title if name == names[0] else "",
            bool(trace.badge),
        )
        for trace in traces
        for name in names
    ]
    return Figure(
        f"Chains of {', '.join(each.title for each in traces)}: {', '.join(names)} against the step",
        tuple(panels),
        "A line per chain. Chains that have mixed cross one another all the way; one that keeps to itself was stuck.",
        columns=len(names),
        height=1.9,
    )


def ends(values: Sequence[Numbers]) -> tuple[float, float]:
    """From where to where an axis reaches that shows them all."""
    together = np.concatenate(values)
    low, high = float(together.min()), float(together.max())
    return low - 0.03 * (high - low), high + 0.03 * (high - low)


def _chains(trace: ChainTrace, name: str) -> Iterator[Mark]:
    for chain in np.unique(trace.chain).tolist():
        here = trace.chain == chain
        values = trace.columns[name][here].astype(float)
        yield Line(Series(chain), tuple(trace.step[here].tolist()), tuple(values.tolist()), weight="hair")
