"""Error consistency (Geirhos, Meding & Wichmann 2020): are two deciders wrong on the same images?

    κ = (c_obs − c_exp) / (1 − c_exp),    c_exp = p₁p₂ + (1 − p₁)(1 − p₂)

c_obs is the share of images on which both are right or both are wrong, c_exp what independent deciders of the same
accuracies p₁ and p₂ would share. κ is 1 where they err alike, 0 where only by chance, and below 0 where they avoid each
other's errors. Where c_exp is 1 (both are always right, or both always wrong) it is undefined.

Intervals are quantiles over images drawn with replacement. A kind of image that was not met can't be drawn, and with
few errors most kinds were not: two deciders with the same single error would have κ = 1 in every draw. So each draw
adds a random half image to each of the four counts, Gamma(½), as Jeffreys' prior does to a posterior. Where images
share something (a shape, a texture) and errors hit all that share it, what was not met is a whole shape of images: the
half image is multiplied by the design effect (Kish 1965), which is 1 for errors that fall on images one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.statistics.crossed import quantiles, resampled
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
    return from_counts(_counts(right, seen, pairs, weights))


def _counts(right: Array, seen: Array, pairs: NDArray[np.int64], weights: Array | None) -> Array:
    """(4, D, P), or (4, P): images where both are right, only the first, only the second, neither."""
    step = max(1, MOST_NUMBERS // right.shape[1])
    parts = [pairs[start : start + step] for start in range(0, len(pairs), step)]
    return np.concatenate([_counts_of_few(right, seen, part, weights) for part in parts], -1)


def _counts_of_few(right: Array, seen: Array, pairs: NDArray[np.int64], weights: Array | None) -> Array:
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
    found = np.empty((draws, len(pairs)))
    for place, each in enumerate(_counts(right, np.ones_like(right), pairs, None).T):
        drawn = generator.multinomial(count, each / count, draws) + generator.gamma(0.5, size=(draws, 4))
        found[:, place] = from_counts(drawn.T).kappa
    return found


def redrawn_together(
    right: Array,
    seen: Array,
    pairs: NDArray[np.int64],
    factors: Sequence[NDArray[Any]],
    draws: int,
    seed: int,
) -> Array:
    """κ (D, P) with the same images drawn anew for all pairs, as a mean over pairs needs it, and by what images share:
    `factors` (n,) each. The half images are the same for all pairs too: of many pairs, their own would average out."""
    (generator,) = generator_of(seed).spawn(1)
    unit = design_effect(right, seen, pairs, factors)  # (P,)

    def kappa(weights: Array) -> Array:
        halves = generator.gamma(0.5, size=(len(weights), 4)).T[..., None]  # (4, D, 1)
        return from_counts(_counts(right, seen, pairs, weights) + halves * unit).kappa

    return resampled(kappa, right.shape[1], factors, draws, seed)


def design_effect(right: Array, seen: Array, pairs: NDArray[np.int64], factors: Sequence[NDArray[Any]]) -> Array:
    """(P,) ≥ 1: how many images count as one, since errors of a pair (of either, or both) gather in levels of a factor.
    The variance of their number over levels, relative to that of errors that fall on images one by one."""
    found = np.ones(len(pairs))
    for factor in factors:
        level = np.unique(factor, return_inverse=True)[1]
        belongs = np.eye(int(level.max()) + 1)[level]  # (n, L)
        for place, (first, second) in enumerate(pairs):
            both = seen[first] * seen[second]
            wrong = both * (1 - right[first] * right[second])
            share = wrong.sum() / max(1.0, both.sum())
            if 0 < share < 1:
                apart = (wrong - share * both) @ belongs
                found[place] = max(found[place], (apart**2).sum() / (both.sum() * share * (1 - share)))
    return found


def interval(kappa: float, drawn: Array, confidence: float) -> tuple[float, float] | None:
    """Quantiles of draws (D,), widened to κ itself: half images move the draws away from 1. None where κ is
    undefined."""
    bounds = None if np.isnan(kappa) else quantiles(drawn, confidence)
    return None if bounds is None else (min(bounds[0], kappa), max(bounds[1], kappa))
