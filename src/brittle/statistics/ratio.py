"""An interval for Σ totals / Σ weights over independent clusters, such as images seen in several conditions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from brittle.statistics.intervals import Support, betting_bounds

BISECTIONS = 30


def ratio_bounds(
    totals: npt.ArrayLike, weights: npt.ArrayLike, confidence: float, support: Support = (0.0, 1.0)
) -> tuple[float, float]:
    """Bounds for E[total] / E[weight] from clusters (n,), each total being a sum of `weight` values on the support.

    r is the ratio if and only if total − r·weight has the mean 0 (Fieller 1954): every r for which the betting interval
    of that mean does not hold 0 is excluded. With equal weights it is the interval for the mean of cluster means."""
    total, weight = np.asarray(totals, np.float64), np.asarray(weights, np.float64)
    least, most = support
    widest, count = weight.max(), len(weight)
    if (weight == widest).all():
        return betting_bounds(total / widest, confidence, planned=count, support=support).pair()
    middle = float(total.sum() / weight.sum())

    def excluded(ratio: float) -> bool:
        values = (total - ratio * weight) / widest
        low, high = betting_bounds(values, confidence, planned=count, support=(least - ratio, most - ratio)).pair()
        return low > 0 or high < 0

    return _end(excluded, middle, least), _end(excluded, middle, most)


def _end(excluded: Callable[[float], bool], inside: float, outside: float) -> float:
    """The last ratio on the way from one that is not excluded that is not excluded either."""
    if not excluded(outside):
        return outside
    for _ in range(BISECTIONS):
        between = (inside + outside) / 2
        if excluded(between):
            outside = between
        else:
            inside = between
    return outside
