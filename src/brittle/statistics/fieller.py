"""Differences and ratios of gaps: means over two independent samples of images, with intervals for few images too.

The difference of two shares has Newcombe's interval (1998, method 10), made of the two Wilson intervals. Unlike that of
the central limit theorem it has room where all items of both samples are right, or wrong.

A ratio of two such differences has Fieller's (1954). N and D are sums of means over independent samples, each item
giving a pair (x, y), one number to either: N = Σ ± mean(x), D = Σ ± mean(y). It holds every r at which N − r·D could
well be 0,

    (N − r·D)² ≤ z² (v_N − 2 r v_ND + r² v_D),

with variances and covariance estimated within each sample. It knows that D is uncertain, and it is bounded just where D
differs from 0 at that confidence. Every sample counts two more items, spread evenly over the extremes (0, 0), (0, 1),
(1, 0) and (1, 1), as Agresti and Caffo (2000) do for differences: without them nothing varies where x is y throughout.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from brittle.statistics.estimate import Estimate

Array = NDArray[np.float64]
PSEUDO_ITEMS = 2.0


class SignedSample(NamedTuple):
    """Items of one sample, and the sign with which their means count."""

    x: Array  # (n,) to the numerator, in [0, 1]
    y: Array  # (n,) to the denominator, in [0, 1]
    sign: int = 1


def normal_quantile(confidence: float) -> float:
    """z of a two-sided interval."""
    return float(ndtri(0.5 + confidence / 2))


def difference_of_shares(first: Array, second: Array, confidence: float) -> Estimate:
    """The mean of the first sample minus that of the second, values (n,) in [0, 1], with Newcombe's interval.

    Values between 0 and 1 count as if they were one of them with that chance, which varies most: the interval is then
    wider than it need be."""
    return difference(*(_wilson(each, confidence) for each in (first, second)))


def difference(first: Estimate, second: Estimate) -> Estimate:
    """First minus second, as Newcombe joins two intervals: their half-widths towards each other, and away, are squared
    and added. It is for independent samples; where what is added to one is added to both it is wider than need be."""
    value = first.value - second.value
    low = value - math.hypot(first.value - first.low, second.high - second.value)
    high = value + math.hypot(first.high - first.value, second.value - second.low)
    return Estimate(value, low, high)


def _wilson(values: Array, confidence: float) -> Estimate:
    """Wilson's (1927) interval for a share."""
    share, weight = float(values.mean()), normal_quantile(confidence) ** 2 / len(values)
    middle = (share + weight / 2) / (1 + weight)
    reach = math.sqrt(weight * share * (1 - share) + weight**2 / 4) / (1 + weight)
    return Estimate(share, min(share, middle - reach), max(share, middle + reach))


def ratio(samples: Sequence[SignedSample], confidence: float) -> Estimate:
    """N / D with Fieller's interval; nothing where D is not above 0 at that confidence."""
    z = normal_quantile(confidence)
    above = below = var_above = var_below = both = 0.0
    for each in samples:
        mean, covariance = _moments(*_with_extremes(each.x, each.y))
        above, below = above + each.sign * float(mean[0]), below + each.sign * float(mean[1])
        var_above, var_below = var_above + float(covariance[0, 0]), var_below + float(covariance[1, 1])
        both += float(covariance[0, 1])
    if not below > z * math.sqrt(var_below):
        return Estimate()
    # a r² − 2 b r + c ≤ 0, where a > 0
    a = below**2 - z**2 * var_below
    b = above * below - z**2 * both
    c = above**2 - z**2 * var_above
    reach = math.sqrt(max(0.0, b**2 - a * c))
    numerator, denominator = _differences(samples)
    value = numerator / denominator
    return Estimate(value, min(value, (b - reach) / a), max(value, (b + reach) / a))


def difference_of_ratios(first: Sequence[SignedSample], second: Sequence[SignedSample], confidence: float) -> Estimate:
    """The difference of two ratios over the same items, to first order in what each item adds to either; nothing where
    one of them has nothing to divide by."""
    one, other = ratio(first, confidence), ratio(second, confidence)
    if math.isnan(one.value + other.value):
        return Estimate()
    variance, (_, below), (_, other_below) = 0.0, _differences(first), _differences(second)
    for mine, theirs in zip(first, second, strict=True):
        (x, y, other_x, other_y), weights = _with_extremes(mine.x, mine.y, theirs.x, theirs.y)
        added = (x - one.value * y) / below - (other_x - other.value * other_y) / other_below
        variance += float(_moments(added[None], weights)[1][0, 0])
    value, reach = one.value - other.value, normal_quantile(confidence) * math.sqrt(variance)
    return Estimate(value, value - reach, value + reach)


def standard_errors(samples: Sequence[SignedSample]) -> float:
    """How many of its standard errors the denominator D lies above 0."""
    variance = sum(float(_moments(*_with_extremes(each.y))[1][0, 0]) for each in samples)
    return _differences(samples)[1] / math.sqrt(variance)


def _differences(samples: Sequence[SignedSample]) -> tuple[float, float]:
    """N and D."""
    return (
        sum(each.sign * float(each.x.mean()) for each in samples),
        sum(each.sign * float(each.y.mean()) for each in samples),
    )


def _with_extremes(*columns: Array) -> tuple[Array, Array]:
    """Columns (n,) → (k, n + 2ᵏ) and weights: the items, and every combination of 0 and 1, together two items."""
    extremes = np.array(list(itertools.product((0.0, 1.0), repeat=len(columns)))).T
    weights = np.concatenate([np.ones(len(columns[0])), np.full(extremes.shape[1], PSEUDO_ITEMS / extremes.shape[1])])
    return np.concatenate([np.stack(columns), extremes], 1), weights


def _moments(columns: Array, weights: Array) -> tuple[Array, Array]:
    """The weighted means (k,) of columns (k, n), and the covariance (k, k) of these means."""
    total = float(weights.sum())
    mean = columns @ weights / total
    apart = columns - mean[:, None]
    return mean, np.asarray((apart * weights) @ apart.T / ((total - 1) * total))
