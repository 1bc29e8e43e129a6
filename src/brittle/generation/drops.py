"""How the accuracy falls along the scale, and whether one classifier's drop grows more slowly than another's (Dünkel et
al. 2025, sections 5.1 and 5.3, figure 14).

The drop at a scale is A(0) − A(s). Its growth is the slope of the line through the origin that fits the drops best,
Σ s·drop(s) / Σ s²: drop per unit of scale. Classifiers are compared on the same images, pair by pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.errors import BrittleError
from brittle.statistics.crossed import crossed_weights, quantiles, share_interval
from brittle.statistics.estimate import Estimate

Array = NDArray[np.float64]
DRAWS = 2000


class DropCurve(NamedTuple):
    """One classifier along the scale."""

    scales: tuple[float, ...]
    accuracy: list[Estimate]
    drop: list[Estimate]
    growth: Estimate


class GrowthApart(NamedTuple):
    """First less second: below 0 where the first loses less."""

    drop: list[Estimate]
    growth: Estimate
    verdict: str  # more slowly, faster, or can't be told


def drop_curve(
    right: Array, scales: Sequence[float], group: NDArray[np.int64], confidence: float = 0.95, seed: int = 0
) -> DropCurve:
    """Of whether n paths are classified correctly (n, S), the first scale being 0. Intervals draw groups (n,), such as
    (class, seed), with replacement."""
    along, lost = _checked(right, scales), _lost(right)
    drawn = _means(np.concatenate([right, lost], 1), group, seed)
    count = len(along)
    accuracy = [
        Estimate.between(value, share_interval(value, drawn[:, place], [group], np.ones(len(right)), confidence))
        for place, value in enumerate(right.mean(0).tolist())
    ]
    return DropCurve(tuple(scales), accuracy, *_drops(lost.mean(0), drawn[:, count:], along, confidence))


def growth_apart(
    first: Array,
    second: Array,
    scales: Sequence[float],
    group: NDArray[np.int64],
    confidence: float = 0.95,
    seed: int = 0,
) -> GrowthApart:
    """Two classifiers on the same paths, (n, S) each."""
    along = _checked(first, scales)
    _checked(second, scales)
    lost = _lost(first) - _lost(second)
    drop, growth = _drops(lost.mean(0), _means(lost, group, seed), along, confidence)
    verdict = "more slowly" if growth.high < 0 else "faster" if growth.low > 0 else "can't be told"
    return GrowthApart(drop, growth, verdict)


def slope(drops: Array, scales: Array) -> Array:
    """Of drops (…, S): Σ s·drop(s) / Σ s²."""
    found: Array = drops @ scales / (scales @ scales)
    return found


def _lost(right: Array) -> Array:
    return right[:, :1] - right


def _means(values: Array, group: NDArray[np.int64], seed: int) -> Array:
    """Means (D, k) of values (n, k) over draws of groups."""
    parts = [each @ values / each.sum(1, keepdims=True) for each in crossed_weights(len(values), [group], DRAWS, seed)]
    return np.concatenate(parts)


def _drops(values: Array, drawn: Array, along: Array, confidence: float) -> tuple[list[Estimate], Estimate]:
    drops = [
        Estimate.between(float(value), quantiles(each, confidence)) for value, each in zip(values, drawn.T, strict=True)
    ]
    return drops, Estimate.between(float(slope(values, along)), quantiles(slope(drawn, along), confidence))


def _checked(right: Array, scales: Sequence[float]) -> Array:
    along = np.asarray(scales, dtype=np.float64)
    if (
        right.ndim != 2
        or right.shape[1] != len(along)
        or len(along) < 2
        or along[0] != 0
        or (np.diff(along) <= 0).any()
    ):
        raise BrittleError("drops are wanted at scale 0 and at rising scales above it", "Give a column per scale.")
    return along
