"""What the slopes over the whole grid hide: the slope on parameters at each depth, and each doubling of depth."""

from __future__ import annotations

import itertools

import numpy as np
from found import Array
from scipy import stats

from brittle.statistics.line import line


def signed(three: tuple[float, float, float]) -> str:
    return f"{three[0]:+.2f} [{three[1]:+.2f}, {three[2]:+.2f}]"


def by_depth(depth: Array, size: Array, told: dict[str, Array]) -> list[str]:
    """Lines of a table, a row per outcome."""
    depths = sorted(set(depth.tolist()))
    steps = list(itertools.pairwise(depths))
    names = [*(f"per fivefold parameters, {d} convolutions" for d in depths), *(f"{a} → {b}" for a, b in steps)]
    lines = [
        "",
        "The same depth by depth: the slope on log₅ parameters among networks of one depth, and the difference of the "
        "means of one depth and the next (Student, 95 %, one at a time):",
        "",
        f"| | {' | '.join(names)} |",
        f"| --- | {' | '.join('---' for _ in names)} |",
    ]
    for name, values in told.items():
        cells = [signed(_slope(np.log(size[depth == d]) / np.log(5), values[depth == d])) for d in depths]
        cells += [signed(_apart(values[depth == a], values[depth == b])) for a, b in steps]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _slope(x: Array, y: Array) -> tuple[float, float, float]:
    slope = line(x, y).slope
    assert slope.interval is not None
    return tuple(slope)


def _apart(first: Array, second: Array) -> tuple[float, float, float]:
    """Second minus first: Welch's interval."""
    ends = stats.ttest_ind(second, first, equal_var=False).confidence_interval(0.95)
    return float(second.mean() - first.mean()), float(ends.low), float(ends.high)
