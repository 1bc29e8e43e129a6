"""Bootstrap of images that share something: the pigeonhole bootstrap (Owen 2007, “The pigeonhole bootstrap”).

Stimuli made of every combination of some shapes and some textures are not independent: those of one shape share it.
Each factor's levels are drawn with replacement, and a stimulus counts as often as the product of how often its levels
were drawn. Without factors, images are drawn themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.statistics.intervals import binomial_bounds
from brittle.statistics.seeded import generator_of

Array = NDArray[np.float64]
MOST_NUMBERS = 1 << 23  # weights at a time
FEWEST_BEYOND = 10  # draws in each tail that a quantile is read from
FEW_LEVELS = 10  # of a factor below which intervals cover less often than they say (benchmarks/README.md)


def resampled(
    statistic: Callable[[Array], Array], count: int, factors: Sequence[NDArray[Any]], draws: int, seed: int
) -> Array:
    """statistic(weights (D, n)) → (D, …), over `draws` draws in all."""
    return np.concatenate([statistic(weights) for weights in crossed_weights(count, factors, draws, seed)])


def crossed_weights(count: int, factors: Sequence[NDArray[Any]], draws: int, seed: int) -> Iterator[Array]:
    """Weights (D, n) of n images, some draws at a time; `factors` (n,) say which level of each an image has."""
    generator = generator_of(seed)
    levels = [np.unique(factor, return_inverse=True)[1] for factor in factors] or [np.arange(count)]
    step = max(1, MOST_NUMBERS // max(1, count))
    for start in range(0, draws, step):
        here = min(step, draws - start)
        weights = np.ones((here, count))
        for level in levels:
            size = int(level.max()) + 1
            weights *= generator.multinomial(size, np.full(size, 1 / size), here)[:, level]
        yield weights


def one_sided(share: float, groups: int, confidence: float) -> tuple[float, float]:
    """An interval for a share of which nothing but 0, or nothing but 1, was seen in so many independent groups. There a
    bootstrap has nothing to vary; this is the exact binomial interval (Clopper & Pearson 1934) of as many trials."""
    groups = max(1, groups)
    return binomial_bounds(0 if share == 0 else groups, groups, confidence).pair()


def share_interval(
    value: float, drawn: Array, factors: Sequence[NDArray[Any]], among: Array, confidence: float
) -> tuple[float, float] | None:
    """Of a share over the images that are `among` (n,) others, from its draws (D,); None where it is undefined, or was
    in most draws. Where only one answer was seen there are as many trials as the factor with the fewest levels has."""
    if np.isnan(value):
        return None
    if value in (0.0, 1.0):
        whose = factors or [np.arange(len(among))]
        return one_sided(value, min(len(np.unique(factor[among > 0])) for factor in whose), confidence)
    return quantiles(drawn, confidence)


def enough(draws: int, confidence: float) -> int:
    """As many draws as were asked for, or as leave some in each tail: simultaneous intervals are read far out."""
    return max(draws, math.ceil(round(2 * FEWEST_BEYOND / (1 - confidence), 6)))


def quantiles(values: Array, confidence: float) -> tuple[float, float] | None:
    """The middle part of draws (D,); None where too few of them are defined to speak of one."""
    there = values[np.isfinite(values)]
    if len(there) < len(values) / 2:
        return None
    low, high = np.quantile(there, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
