"""Ratios of means over images, with Fieller's interval (Fieller 1954).

Numerator N and denominator D are sums of means over independent samples, each item giving a pair (x, y), one number to
either: N = Σ ± mean(x), D = Σ ± mean(y). The interval holds every r at which N − r·D could well be 0,

    (N − r·D)² ≤ z² (v_N − 2 r v_ND + r² v_D),

with variances and covariance estimated within each sample. Unlike dividing by an estimate as if it were exact, it knows
that D is uncertain, and it is bounded just where D differs from 0 at that confidence. It rests on the central limit
theorem: with few items it is rough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Array = NDArray[np.float64]


class Sample(NamedTuple):
    """Items of one sample, and the sign with which their means count."""

    x: Array  # (n,) to the numerator
    y: Array  # (n,) to the denominator
    sign: int = 1


class Estimated(NamedTuple):
    """A number with its interval."""

    value: float
    low: float
    high: float

    @property
    def interval(self) -> list[float]:
        return [self.low, self.high]


def normal_quantile(confidence: float) -> float:
    """z of a two-sided interval."""
    return float(ndtri(0.5 + confidence / 2))


def signed_mean(samples: Sequence[tuple[Array, int]], confidence: float) -> Estimated:
    """Σ ± mean over independent samples, with the interval of the central limit theorem."""
    value = sum(sign * float(each.mean()) for each, sign in samples)
    reach = normal_quantile(confidence) * math.sqrt(sum(_covariance(each, each) for each, _ in samples))
    return Estimated(value, value - reach, value + reach)


def ratio(samples: Sequence[Sample], confidence: float) -> Estimated | None:
    """N / D with Fieller's interval; None where D is not above 0 at that confidence: there is nothing to divide by."""
    z = normal_quantile(confidence)
    above = sum(each.sign * float(each.x.mean()) for each in samples)
    below = sum(each.sign * float(each.y.mean()) for each in samples)
    var_above = sum(_covariance(each.x, each.x) for each in samples)
    var_below = sum(_covariance(each.y, each.y) for each in samples)
    both = sum(_covariance(each.x, each.y) for each in samples)
    if not below > z * math.sqrt(var_below):
        return None
    # a r² − 2 b r + c ≤ 0, where a > 0
    a = below**2 - z**2 * var_below
    b = above * below - z**2 * both
    c = above**2 - z**2 * var_above
    reach = math.sqrt(max(0.0, b**2 - a * c))
    value = above / below
    return Estimated(value, min(value, (b - reach) / a), max(value, (b + reach) / a))


def influence(each: Sample, value: float, denominator: float) -> Array:
    """(n,) what each item of a sample adds to the error of the ratio, to first order: for differences of two ratios
    over the same items."""
    residual = each.x - value * each.y
    return np.asarray(each.sign * (residual - residual.mean()) / denominator)


def _covariance(first: Array, second: Array) -> float:
    """Of two means over the same items."""
    count = len(first)
    return float(((first - first.mean()) * (second - second.mean())).sum() / (max(1, count - 1) * count))
