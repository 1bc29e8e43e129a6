"""Times until something happens, some of which lie beyond one common limit: the share not yet met, and medians.

What has not happened by the limit counts as "later than that", never as "then". Since everything is watched up to the
limit, the share that is still whole at any time before it is a plain mean over what is watched: nothing has to be
estimated by products, and its interval is that of a mean.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from brittle.statistics.intervals import betting_bounds, binomial_bounds

Array = npt.NDArray[np.float64]
MOST_AT_ONCE = 1 << 24  # times that are compared together


class Survival(NamedTuple):
    """The share S(t) that is still whole after each of some times (k,), and an interval for each by itself."""

    share: Array
    low: Array
    high: Array


def survival(times: Array, happened: npt.NDArray[np.bool_], at: Array, confidence: float) -> Survival:
    """Of n items with R paths each: `times` (n, R), the limit where it has not `happened`; `at` (k,) up to the limit.

    Paths of one item are not independent, items are: the interval is Clopper and Pearson's of n trials where there is
    one path, and the betting interval of items' shares, in their planned order, where there are several. Both hold for
    any distribution and any n, and hold the share itself."""
    count, paths = times.shape
    some = max(1, MOST_AT_ONCE // max(1, times.size))
    parts = []
    for start in range(0, len(at), some):
        here = at[start : start + some, None, None]
        whole = 1.0 - (happened & (times <= here)).mean(-1)  # (k, n)
        if paths == 1:
            low, high = binomial_bounds(whole.sum(-1), count, confidence)
        else:
            low, high = betting_bounds(whole, confidence, planned=count)
        parts.append((whole.mean(-1), low, high))
    return Survival(*map(np.concatenate, zip(*parts, strict=True))) if parts else Survival(*np.zeros((3, 0)))


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


def named_median(name: str, values: Array, confidence: float) -> dict[str, Any]:
    """As entries of a summary: the median of values (n,) of at least 0, ∞ where they are censored, and its interval.
    None stands for what lies among the censored ones, and for what is unknown for want of values."""
    if not len(values):
        return {name: None, f"{name}_interval": None}
    middle, low, high = median_interval(values, confidence)
    told = [each if np.isfinite(each) else None for each in (middle, max(0.0, low), high)]
    return {name: told[0], f"{name}_interval": told[1:]}
