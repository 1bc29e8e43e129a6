"""Accuracy on the line (Miller et al. 2021; CNS-Bench 2025, A.6): accuracy under a shift against accuracy without it.

Over models: the line; what is left of it once the line is taken away; whether something else about them explains that.

On probit axes, Φ⁻¹ of both accuracies, what is left is effective robustness (Taori et al. 2020).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import norm
from scipy.stats import t as student

from brittle.statistics.estimate import Estimate

Array = npt.NDArray[np.float64]
FEWEST = 5  # models


class FittedLine(NamedTuple):
    """A least-squares line through n points, n − 2 degrees of freedom. Nothing where one of the two does not vary."""

    points: int
    slope: Estimate = Estimate()
    intercept: float | None = None
    correlation: Estimate = Estimate()  # Fisher's z
    p_value: float | None = None  # of no correlation, two-sided (t)


class PartialCorrelation(NamedTuple):
    """The correlation of two numbers once the line of each on a third is taken away, n − 3 degrees of freedom."""

    points: int
    correlation: Estimate = Estimate()  # Fisher's z; no interval below five points
    p_value: float | None = None


class Gains(NamedTuple):
    """How far each model (n,) lies above the line of the baseline models other than itself, with an interval for what
    a new model on that line could differ by: gain ± t·s·√(1 + 1/m + …)."""

    gain: Array
    low: Array
    high: Array


def line(x: Array, y: Array, confidence: float = 0.95) -> FittedLine:
    """y = slope·x + intercept, of n models (n,)."""
    count, spread = len(x), ((x - x.mean()) ** 2).sum()
    if count < 3 or np.ptp(x) <= 0 or np.ptp(y) <= 0:
        return FittedLine(count)
    slope = float(((x - x.mean()) * (y - y.mean())).sum() / spread)
    r = _correlation(x, y)
    left = y - y.mean() - slope * (x - x.mean())
    error = float(np.sqrt((left**2).sum() / (count - 2) / spread))
    reach = float(student.ppf((1 + confidence) / 2, count - 2)) * error
    through, intercept = Estimate(slope, slope - reach, slope + reach), float(y.mean() - slope * x.mean())
    return FittedLine(count, through, intercept, _fisher(r, count, 0, confidence), _p_value(r, count - 2))


def partial(attribute: Array, y: Array, given: Array, confidence: float = 0.95) -> PartialCorrelation:
    """ρ(attribute, y · given), of n models (n,) each: the correlation of the residuals on `given`."""
    count = len(y)
    first, second = _left_over(attribute, given), _left_over(y, given)
    scale = max(np.ptp(attribute), 1e-300), max(np.ptp(y), 1e-300)
    if count < 4 or np.ptp(first) <= 1e-9 * scale[0] or np.ptp(second) <= 1e-9 * scale[1]:
        return PartialCorrelation(count)
    r = _correlation(first, second)
    return PartialCorrelation(count, _fisher(r, count, 1, confidence), _p_value(r, count - 3))


def gains(x: Array, y: Array, baseline: npt.NDArray[np.bool_], confidence: float = 0.95) -> Gains:
    """Leave-one-out: a model that is itself among the baseline (n,) does not help to draw the line that it is held
    against. NaN where fewer than three others remain, or these do not vary in x."""
    found = np.full((3, len(x)), np.nan)
    counts = baseline.sum() - baseline
    reach = student.ppf((1 + confidence) / 2, np.maximum(counts - 2, 1))
    for place in range(len(x)):
        others = baseline.copy()
        others[place] = False
        there, count = x[others], int(counts[place])
        if count < 3 or np.ptp(there) <= 0:
            continue
        left, spread = _left_over(y[others], there), float(((there - there.mean()) ** 2).sum())
        slope = float(((there - there.mean()) * y[others]).sum() / spread)
        off = x[place] - there.mean()
        gain = y[place] - y[others].mean() - slope * off
        error = np.sqrt((left**2).sum() / (count - 2) * (1 + 1 / count + off**2 / spread))
        found[:, place] = gain, gain - reach[place] * error, gain + reach[place] * error
    return Gains(*found)


def probit(accuracy: Array, images: int) -> Array:
    """Φ⁻¹(accuracy); 0 and 1 count as half an image away from themselves."""
    return np.asarray(norm.ppf(np.clip(accuracy, 0.5 / images, 1 - 0.5 / images)), np.float64)


def _correlation(x: Array, y: Array) -> float:
    a, b = x - x.mean(), y - y.mean()
    return float(np.clip((a * b).sum() / np.sqrt((a**2).sum() * (b**2).sum()), -1, 1))


def _left_over(y: Array, x: Array) -> Array:
    slope = ((x - x.mean()) * y).sum() / ((x - x.mean()) ** 2).sum() if np.ptp(x) > 0 else 0.0
    return np.asarray(y - y.mean() - slope * (x - x.mean()), np.float64)


def _p_value(r: float, freedom: int) -> float | None:
    if freedom < 1:
        return None
    with np.errstate(divide="ignore"):
        statistic = abs(r) * np.sqrt(freedom / np.maximum(1 - r * r, 0.0))
    return float(2 * student.sf(statistic, freedom))


def _fisher(r: float, count: int, given: int, confidence: float) -> Estimate:
    if count - given < 4 or abs(r) >= 1:
        return Estimate(r)
    reach = norm.ppf((1 + confidence) / 2) / np.sqrt(count - given - 3)
    return Estimate(r, float(np.tanh(np.arctanh(r) - reach)), float(np.tanh(np.arctanh(r) + reach)))
