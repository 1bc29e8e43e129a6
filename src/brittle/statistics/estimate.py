"""A number and its interval in one piece, as summaries give them: a mean over images, a difference, a ratio."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.statistics.intervals import Bounds, Support, betting_bounds

Array = NDArray[np.float64]


class Estimate(NamedTuple):
    """NaN where there is no number, or no interval for it."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan

    @classmethod
    def within(cls, value: float, bounds: Bounds) -> Estimate:
        """The mean that the bounds are of: they hold it, and here to the last bit, however the sums were rounded."""
        low, high = bounds.pair()
        return cls(float(value), min(low, value), max(high, value))

    def scaled(self, factor: float) -> Estimate:
        """In another unit."""
        return Estimate(*(factor * each for each in self))

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2

    @property
    def interval(self) -> list[float] | None:
        return None if math.isnan(self.low) else [self.low, self.high]

    def named(self, name: str, interval: str = "") -> dict[str, Any]:
        """As entries of a summary: the number, and its interval as `interval`, by default the name's own."""
        value = None if math.isnan(self.value) else self.value
        return {name: value, interval or f"{name}_interval": self.interval}

    def favours(self, even: float = 0.0) -> str:
        """Which of two a difference is in favour of; a tie unless its interval lies on one side of what is even."""
        return "first" if self.low > even else "second" if self.high < even else "tie"


def mean(values: Array, confidence: float, *, support: Support = (0.0, 1.0), planned: int | None = None) -> Estimate:
    """The mean of values (n,) of independent items in planned order, for the population that they are drawn from;
    nothing of none. `planned` are the values meant to be looked at, these by default."""
    if not len(values):
        return Estimate()
    bounds = betting_bounds(values, confidence, planned=planned or len(values), support=support)
    return Estimate.within(float(values.mean()), bounds)


def means(values: Array, confidence: float, *, support: Support = (0.0, 1.0)) -> list[Estimate]:
    """The same of each row of values (k, n)."""
    if not values.size:
        return [Estimate() for _ in values]
    bounds = betting_bounds(values, confidence, planned=values.shape[1], support=support)
    return [
        Estimate.within(value, Bounds(low, high))
        for value, low, high in zip(values.mean(1).tolist(), bounds.low, bounds.high, strict=True)
    ]
