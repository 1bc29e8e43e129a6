"""Error consistency (Geirhos, Meding & Wichmann 2020): are two deciders wrong on the same images?

    κ = (c_obs − c_exp) / (1 − c_exp),    c_exp = p₁p₂ + (1 − p₁)(1 − p₂)

c_obs is the share of images on which both are right or both are wrong, c_exp what independent deciders of the same
accuracies p₁ and p₂ would share. κ is 1 where they err alike, 0 where only by chance, and below 0 where they avoid each
other's errors. Where c_exp is 1 (both are always right, or both always wrong) it is undefined.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.statistics.seeded import generator_of

Array = NDArray[np.float64]
MOST_NUMBERS = 1 << 23  # at a time
ROUNDING = 1e-12


class Consistency(NamedTuple):
    """Of P pairs; leading dimensions are those of the weights."""

    images: Array  # that both decided on, by weight
    observed: Array
    expected: Array
    kappa: Array  # NaN where it is undefined


def consistency(right: Array, seen: Array, pairs: NDArray[np.int64], weights: Array | None = None) -> Consistency:
    """right, seen (N, n) of N deciders and n images as 0 and 1, pairs (P, 2), weights (D, n) → (D, P), or (P,) without.

    Only images that both of a pair have seen count."""
    step = max(1, MOST_NUMBERS // right.shape[1])
    counted = [_counts(right, seen, pairs[start : start + step], weights) for start in range(0, len(pairs), step)]
    return from_counts(np.concatenate(counted, -1))


def _counts(right: Array, seen: Array, pairs: NDArray[np.int64], weights: Array | None) -> Array:
    """(4, D, P), or (4, P): images where both are right, only the first, only the second, neither."""
    first, second = pairs.T
    both = seen[first] * seen[second]  # (P, n)
    one, other = right[first], right[second]
    parts = [both * one * other, both * one * (1 - other), both * (1 - one) * other, both * (1 - one) * (1 - other)]
    return np.stack([part.sum(-1) if weights is None else weights @ part.T for part in parts])


def from_counts(counts: Array) -> Consistency:
    """Of counts (4, …): both right, only the first, only the second, neither."""
    images = counts.sum(0)
    with np.errstate(invalid="ignore", divide="ignore"):
        both, only_first, only_second, neither = counts / images
        p_first, p_second = both + only_first, both + only_second
        observed, expected = both + neither, p_first * p_second + (1 - p_first) * (1 - p_second)
        beyond = np.where(np.abs(observed - expected) < ROUNDING, 0.0, observed - expected)
        kappa = np.where(expected < 1 - ROUNDING, beyond / (1 - expected), np.nan)
    return Consistency(images, observed, expected, kappa)


def redrawn(right: Array, pairs: NDArray[np.int64], draws: int, seed: int) -> Array:
    """κ (D, P) with images drawn anew, each pair by itself, of right (N, n) where everybody has seen every image.

    What a pair's κ depends on are four counts, and drawing n images with replacement draws these from a multinomial: as
    good as drawing images, whatever their number, but for means over pairs, which need the same images in each."""
    count, generator = right.shape[1], generator_of(seed)
    step = max(1, MOST_NUMBERS // count)
    found = np.empty((draws, len(pairs)))
    for start in range(0, len(pairs), step):
        here = pairs[start : start + step]
        counts = _counts(right, np.ones_like(right), here, None)
        drawn = np.stack([generator.multinomial(count, each / count, draws) for each in counts.T], -1)  # (D, 4, p)
        found[:, start : start + step] = from_counts(np.moveaxis(drawn, 1, 0).astype(np.float64)).kappa
    return found
