"""Rankings with ties, by overlap of intervals (CNS-Bench 2025, figure 7) and by paired tests with Holm's correction.

Overlap is not transitive, so a rank is 1 + the number of classifiers whose interval lies wholly above. By tests, it is
1 + the number of classifiers that are significantly better. Since all false differences together have at most the
stated probability, the true rank lies between that and K − the number significantly worse, for all classifiers, shifts
and scales at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import binom, norm

Array = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
MOST_EXACT = 256  # of Σ|d|, in steps, where differences come in several sizes


class PairDifferences(NamedTuple):
    """Every pair of K classifiers at every scale: differences first − second, (P, S), pairs as `pairs` orders them."""

    difference: Array
    p_value: Array


def pairs(count: int) -> list[tuple[int, int]]:
    return [(first, second) for first in range(count) for second in range(first + 1, count)]


def ranks_by_overlap(low: Array, high: Array) -> Whole:
    """Ends (K, ...) of intervals of scores, high is good → ranks (K, ...)."""
    above = low[None, :] > high[:, None]  # [k, j]: j lies wholly above k
    return np.asarray(1 + above.sum(1), np.int64)


def one_sigma(values: Array, sigma: float = 1.0) -> tuple[Array, Array]:
    """Values (M, ...) of M images → the ends of mean ± one standard error, or so many."""
    mean = values.mean(0)
    error = sigma * np.sqrt(((values - mean) ** 2).mean(0) / len(values))
    return mean - error, mean + error


def pair_differences(scores: Whole, steps: int) -> PairDifferences:
    """scores (K, M, S): of every image, whole numbers of 1/`steps` (the number of paths), high is good."""
    count, _, scales = scores.shape
    found = pairs(count)
    difference, p_value = np.empty((len(found), scales)), np.empty((len(found), scales))
    for place, (first, second) in enumerate(found):
        apart = scores[first] - scores[second]
        difference[place] = apart.mean(0) / steps
        p_value[place] = sign_flip(apart)
    return PairDifferences(difference, p_value)


def sign_flip(apart: Whole) -> Array:
    """Paired differences (M, S) in whole numbers → two-sided p-values (S,).

    Under the null each image's difference is as likely to have the other sign. Where all are −1, 0 or 1, as with one
    path per image, that is McNemar's exact test, and the null is equal accuracy and no more. Where they come in
    several sizes the distribution of the sum is computed exactly if it is small, and otherwise taken as normal with
    variance Σd²."""
    sizes, total = np.abs(apart), np.abs(apart.sum(0))
    largest = sizes.max(0, initial=0)
    discordant = (sizes > 0).sum(0)
    # The number of images in which the one with fewer is ahead, were all differences of one size.
    unit = np.where(largest > 0, largest, 1)
    fewer = (discordant - total // unit) // 2
    found = np.minimum(1.0, 2 * binom.cdf(fewer, discordant, 0.5))
    mixed = np.flatnonzero((sizes > 0).any(0) & (sizes.sum(0) != discordant * largest))
    for scale in mixed:
        found[scale] = _several_sizes(sizes[:, scale], int(total[scale]))
    return np.asarray(found, np.float64)


def _several_sizes(sizes: Whole, total: int) -> float:
    """P(|Σ ±d| ≥ total) for random signs."""
    if int(sizes.sum()) > MOST_EXACT:
        # Sums move in steps of 2: half a step of continuity.
        return float(min(1.0, 2 * norm.sf(max(0, total - 1) / np.sqrt(float((sizes.astype(np.float64) ** 2).sum())))))
    chances = np.ones(1)
    for size, count in zip(*np.unique(sizes[sizes > 0], return_counts=True), strict=True):
        spread = np.zeros(2 * int(size) * int(count) + 1)
        spread[:: 2 * int(size)] = binom.pmf(np.arange(count + 1), count, 0.5)
        chances = np.convolve(chances, spread)
    middle = len(chances) // 2
    return float(min(1.0, chances[: middle - total + 1].sum() + chances[middle + total :].sum())) if total else 1.0


def holm(p_values: Array) -> Array:
    """Adjusted p-values of one family, of any shape (Holm 1979)."""
    flat = p_values.ravel()
    order = np.argsort(flat, kind="stable")
    stepped = np.maximum.accumulate(flat[order] * np.arange(len(flat), 0, -1))
    adjusted = np.empty_like(flat)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted.reshape(p_values.shape)


def better(difference: Array, adjusted: Array, alpha: float) -> Whole:
    """1 where the first is significantly better, −1 where the second is, 0 for a tie."""
    return np.where(adjusted <= alpha, np.sign(difference), 0).astype(np.int64)


def ranks_by_tests(count: int, verdicts: Whole) -> tuple[Whole, Whole]:
    """Verdicts (P, S) on pairs of `count` classifiers → the least and the greatest rank (K, S) that they allow."""
    least = np.ones((count, verdicts.shape[1]), np.int64)
    most = np.full_like(least, count)
    for (first, second), verdict in zip(pairs(count), verdicts, strict=True):
        least[first] += verdict < 0
        least[second] += verdict > 0
        most[first] -= verdict > 0
        most[second] -= verdict < 0
    return least, most


def swaps(difference: Array, verdicts: Whole) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Of pairs (P, S): whether they change places along the scale, and whether that is more than noise: both are
    significantly better than the other somewhere."""
    changed, real = ((each > 0).any(1) & (each < 0).any(1) for each in (difference, verdicts))
    return np.asarray(changed), np.asarray(real)
