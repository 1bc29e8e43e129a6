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

Array = NDArray[np.float64]


class Consistency(NamedTuple):
    """Of P pairs; leading dimensions are those of the weights."""

    images: Array  # that both decided on, by weight
    observed: Array
    expected: Array
    kappa: Array  # NaN where it is undefined


def consistency(right: Array, seen: Array, pairs: NDArray[np.int64], weights: Array | None = None) -> Consistency:
    """right, seen (N, n) of N deciders and n images as 0 and 1, pairs (P, 2), weights (D, n) → (D, P), or (P,) without.

    Only images that both of a pair have seen count."""
    first, second = pairs.T
    both = seen[first] * seen[second]  # (P, n)
    parts = np.stack([both, both * right[first], both * right[second], both * (right[first] == right[second])])
    sums = parts.sum(-1) if weights is None else np.einsum("dn,kpn->kdp", weights, parts, optimize=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        p_first, p_second, observed = sums[1:] / sums[0]
        expected = p_first * p_second + (1 - p_first) * (1 - p_second)
        kappa = np.where(expected < 1 - 1e-12, (observed - expected) / (1 - expected), np.nan)
    return Consistency(sums[0], observed, expected, kappa)
