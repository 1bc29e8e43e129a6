"""Intervals for ratios of means over independent items, by betting: they hold for any number of items.

r is E[x] / E[y] if and only if x − r·y has the mean 0 (Fieller 1954): every r is excluded at which a betting sequence
against that mean ever reaches 2/δ (`betting.py`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from brittle.statistics import betting
from brittle.statistics.estimate import Estimate
from brittle.statistics.intervals import Bounds, Support, betting_bounds

Array = npt.NDArray[np.float64]
BISECTIONS = 20


def ratio_of_sums(
    totals: npt.ArrayLike, weights: npt.ArrayLike, confidence: float, support: Support = (0.0, 1.0)
) -> Estimate:
    """E[total] / E[weight] from clusters (n,), such as images seen in several conditions, each total being a sum of
    `weight` values on the support; nothing of none. With equal weights it is the mean of cluster means."""
    total, weight = np.asarray(totals, np.float64), np.asarray(weights, np.float64)
    if not len(weight):
        return Estimate()
    least, most = support
    widest, count = weight.max(), len(weight)
    middle = np.asarray(total.sum() / weight.sum())
    if (weight == widest).all():
        return Estimate.within(
            float(middle), betting_bounds(total / widest, confidence, planned=count, support=support)
        )

    def excluded(ratio: Array) -> npt.NDArray[np.bool_]:
        values, own = (total - ratio * weight) / widest, (least - float(ratio), most - float(ratio))
        low, high = betting_bounds(values, confidence, planned=count, support=own).pair()
        return np.asarray(low > 0 or high < 0)

    return Estimate(*(float(each) for each in (middle, _ends(excluded, middle, least), _ends(excluded, middle, most))))


def quotient_bounds(x: npt.ArrayLike, y: npt.ArrayLike, confidence: float) -> Bounds:
    """Bounds for E[x] / E[y] from pairs (..., n) of numbers in [0, 1], in planned order; some y is above 0.

    The upper end is ∞ where E[y] may be 0. With r = t / (1 − t), the values (1 − t)·x − t·y lie in [−t, 1 − t], and t
    runs from 0 to 1."""
    above, below = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(y, np.float64))
    delta, horizon = 1 - confidence, betting.Horizon(above.shape[-1])
    threshold = np.log(2 / delta)

    def beaten(values: Array, mean: Array) -> npt.NDArray[np.bool_]:
        capital = betting.log_capital(values, betting.bets(values, delta, horizon), mean, None)
        return np.asarray(capital.max(-1) >= threshold)

    def too_low(share: Array) -> npt.NDArray[np.bool_]:
        return beaten(_moved(above, below, share), share)

    def too_high(share: Array) -> npt.NDArray[np.bool_]:
        return beaten(1 - _moved(above, below, share), 1 - share)

    inside = above.sum(-1) / (above.sum(-1) + below.sum(-1))
    low, high = _ends(too_low, inside, 0.0), _ends(too_high, inside, 1.0)
    with np.errstate(divide="ignore"):
        return Bounds(low / (1 - low), high / (1 - high))


def _moved(above: Array, below: Array, share: Array) -> Array:
    """(1 − t)·x − t·y + t, (..., n) in [0, 1] for t (...): its mean is t where t is the truth."""
    t = share[..., None]
    return np.asarray((1 - t) * above - t * below + t)


def _ends(excluded: Callable[[Array], npt.NDArray[np.bool_]], inside: Array, last: float) -> Array:
    """The first excluded (...) on the way from what the data suggest to the last possible one; that one if none is."""
    outside = np.full_like(inside, last)
    kept = ~excluded(outside)
    for _ in range(BISECTIONS):
        between = (inside + outside) / 2
        out = excluded(between)
        inside, outside = np.where(out, inside, between), np.where(out, between, outside)
    return np.where(kept, last, outside)
