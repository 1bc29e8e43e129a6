"""Times until something happens, some of which were never seen: Kaplan–Meier, restricted means, medians.

What has not happened by the end of looking is censored: it counts as "later than that", never as "then".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import binom, norm

Array = npt.NDArray[np.float64]


class Survival(NamedTuple):
    """The share S(t) that is still whole after each time (n,) at which something happened, and an interval for each."""

    times: Array
    share: Array
    low: Array
    high: Array

    def at(self, time: npt.ArrayLike) -> Array:
        """S just after these times."""
        place = np.searchsorted(self.times, np.asarray(time, np.float64), side="right")
        return np.concatenate([[1.0], self.share])[place]


def kaplan_meier(times: npt.ArrayLike, happened: npt.ArrayLike, confidence: float = 0.95) -> Survival:
    """The product-limit estimate for independent `times` (n,), those that have not `happened` being censored there.

    Intervals are Greenwood's, on the scale of log(−log S), for one time each (not for all at once)."""
    moment, event = np.asarray(times, np.float64), np.asarray(happened, bool)
    found = np.unique(moment[event])
    ordered = np.sort(moment)
    at_risk = len(moment) - np.searchsorted(ordered, found, side="left")
    events = np.diff(np.searchsorted(np.sort(moment[event]), np.append(found, np.inf), side="left"))
    share = np.asarray(np.cumprod(1 - events / at_risk), np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(np.cumsum(events / (at_risk * (at_risk - events)))) / np.log(share)
        reach = norm.ppf((1 + confidence) / 2) * spread
        low, high = share ** np.exp(-reach), share ** np.exp(reach)
    whole = share <= 0
    return Survival(found, share, np.where(whole, 0.0, low), np.where(whole, 0.0, high))


def restricted_mean(curve: Survival, limit: float) -> float:
    """The mean of min(time, limit): the area under S up to the limit."""
    inside = curve.times < limit
    edges = np.concatenate([[0.0], curve.times[inside], [limit]])
    heights = np.concatenate([[1.0], curve.share[inside]])
    return float((np.diff(edges) * heights).sum())


def median_interval(values: npt.ArrayLike, confidence: float) -> tuple[float, float, float]:
    """The median of independent values (n,) and an interval from order statistics, right for any distribution; censored
    values are given as ∞, and an end that lies among them is ∞."""
    ordered = np.sort(np.asarray(values, np.float64))
    count = len(ordered)
    if not count:
        return np.nan, -np.inf, np.inf
    # P(fewer than k of n lie below the median) ≤ α/2
    below = int(binom.ppf((1 - confidence) / 2, count, 0.5))
    low = ordered[below - 1] if below > 0 else -np.inf
    high = ordered[count - below] if below > 0 else np.inf
    lower, upper = ordered[(count - 1) // 2], ordered[count // 2]
    return float(lower if lower == upper else (lower + upper) / 2), float(low), float(high)
