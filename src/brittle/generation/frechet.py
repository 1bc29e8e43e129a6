"""How far two sets of images are apart in an encoder's features: the Fréchet distance of two normal distributions.

    d² = ‖m₁ − m₂‖² + tr(C₁ + C₂ − 2 (C₁ C₂)^½)

With the features of an Inception network it is what is called FID (Heusel et al. 2017), and with no others: numbers of
different encoders can't be compared. Nor can those of different numbers of images, since few of them make it larger:
it is not 0 even between two parts of one set, which `floor` tells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.errors import BrittleError
from brittle.statistics.seeded import generator_of

Array = NDArray[np.float64]


class FeatureMoments(NamedTuple):
    """Mean (D,) and covariance (D, D) of features, and of how many images they are."""

    mean: Array
    covariance: Array
    images: int


def moments(features: Array) -> FeatureMoments:
    """Of features (n, D), with the unbiased covariance that FID is computed with."""
    if len(features) < 2:
        raise BrittleError(f"a covariance needs two images, and there is {len(features)}", "Give more images.")
    values = np.asarray(features, dtype=np.float64)
    return FeatureMoments(values.mean(0), np.atleast_2d(np.cov(values, rowvar=False)), len(values))


def frechet_distance(first: FeatureMoments, second: FeatureMoments) -> float:
    """d², at least 0."""
    root = _root(first.covariance)
    # C₁ C₂ has the eigenvalues of C₁^½ C₂ C₁^½, which is symmetric: no complex roots of what rounding left.
    shared = np.linalg.eigvalsh(root @ second.covariance @ root)
    spread = np.trace(first.covariance) + np.trace(second.covariance) - 2 * np.sqrt(shared.clip(0)).sum()
    return max(0.0, float(((first.mean - second.mean) ** 2).sum() + spread))


def distance_between(first: Array, second: Array) -> float:
    """d² between features (n, D) and (m, D)."""
    return frechet_distance(moments(first), moments(second))


def floor(features: Array, count: int, seed: int = 0, repeats: int = 10) -> float:
    """The mean d² between so many of the features (n, D), drawn at random, and the rest: what is no difference of
    distributions."""
    generator, found = generator_of(seed), []
    for _ in range(repeats):
        order = generator.permutation(len(features))
        found.append(distance_between(features[order[:count]], features[order[count:]]))
    return float(np.mean(found))


def distance_name(encoder: str) -> str:
    """What the distance in an encoder's features is called."""
    return "FID" if "inception" in encoder.lower() else f"Fréchet distance in the features of {encoder}"


def _root(matrix: Array) -> Array:
    """The symmetric root of a symmetric matrix without negative eigenvalues, but for rounding."""
    values, vectors = np.linalg.eigh(matrix)
    root: Array = (vectors * np.sqrt(values.clip(0))) @ vectors.T
    return root
