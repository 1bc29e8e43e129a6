"""Does a generated shift predict a real one (Dünkel et al. 2025, section 4.3, figure 5)?

The accuracy on really shifted images is one number, and that along the scale a curve. Two questions: at which scale
the curve comes down to it, if it does; and whether the shifts, or classifiers, that lose most on one lose most on the
other.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from brittle.errors import BrittleError
from brittle.statistics.seeded import generator_of

Array = NDArray[np.float64]
ALL_ORDERS, DRAWS = 7, 9999


class Association(NamedTuple):
    """Between two lists of as many drops; None where it is undefined."""

    pairs: int
    pearson: float | None
    spearman: float | None
    p_value: float | None  # of Spearman's ρ, from all orders where there are few, two-sided


def matching_scale(scales: Sequence[float], accuracy: Sequence[float], real: float) -> float | None:
    """The first scale at which the accuracy, taken to be straight between scales, is as low as on real images; None
    where it stays above."""
    if len(scales) != len(accuracy) or not len(scales):
        raise BrittleError("an accuracy is wanted at every scale", "Give as many accuracies as scales.")
    if accuracy[0] <= real:
        return float(scales[0])
    for place in range(1, len(scales)):
        before, after = accuracy[place - 1], accuracy[place]
        if after <= real:
            share = (before - real) / (before - after)
            return float(scales[place - 1] + share * (scales[place] - scales[place - 1]))
    return None


def association(generated: Sequence[float], real: Sequence[float]) -> Association:
    """How drops on generated images go with those on real ones."""
    first, second = np.asarray(generated, dtype=np.float64), np.asarray(real, dtype=np.float64)
    if len(first) != len(second):
        raise BrittleError(f"there are {len(first)} generated and {len(second)} real drops", "Pair them.")
    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return Association(len(first), None, None, None)
    pearson = float(np.corrcoef(first, second)[0, 1])
    spearman = float(stats.spearmanr(first, second).statistic)
    return Association(len(first), pearson, spearman, _p_value(first, second))


def _p_value(first: Array, second: Array) -> float:
    """By permutation of the ranks, all of them where there are few: Student's t is far off with so few pairs."""
    ranks, others = (_centred(stats.rankdata(each)) for each in (first, second))
    if len(ranks) <= ALL_ORDERS:
        orders = np.array(list(itertools.permutations(range(len(ranks)))))
    else:
        orders = np.concatenate(
            [np.arange(len(ranks))[None], generator_of(0).permuted(np.tile(np.arange(len(ranks)), (DRAWS, 1)), axis=1)]
        )
    found = np.abs(ranks[orders] @ others)
    return float((found >= abs(ranks @ others) * (1 - 1e-12)).mean())


def _centred(values: Array) -> Array:
    centred: Array = values - values.mean()
    return centred
