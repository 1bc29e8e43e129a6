"""How far generated images are from real ones (Dünkel et al. 2025, section 4.1 and table 2a): a Fréchet distance in an
encoder's features, and the accuracy of a classifier of real images.

Ways of generating, such as with learned words and without, are compared on the same classes and seeds. The distance is
no mean over images, so its interval is the jackknife's over blocks of seeds: each block is left out once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from brittle.errors import BrittleError
from brittle.generation.frechet import Array, FeatureMoments, frechet_distance, moments
from brittle.generation.shares import change_of_share, share_of_images
from brittle.statistics.estimate import Estimate


class GeneratedSample(NamedTuple):
    """Images of one way of generating; several ways have the same classes and seeds in the same order."""

    features: Array  # (n, D)
    right: NDArray[np.bool_]  # (n,) whether the classifier finds their class


class DistributionGap(NamedTuple):
    """Of one way; differences are to the first."""

    way: str
    images: int
    distance: Estimate
    accuracy: Estimate
    distance_apart: Estimate
    accuracy_apart: Estimate


def gaps(
    real: Array, ways: Mapping[str, GeneratedSample], block: NDArray[np.int64], confidence: float = 0.95
) -> list[DistributionGap]:
    """Each way beside real features (m, D); `block` (n,) says which block of seeds an image is of."""
    if any(len(each.right) != len(block) for each in ways.values()):
        raise BrittleError("ways of generating differ in their images", "Make the same classes and seeds of each.")
    reference = moments(real)
    first = next(iter(ways.values()))
    found = []
    for way, each in ways.items():
        found.append(
            DistributionGap(
                way,
                len(block),
                jackknife(_distance(reference, each), block, confidence),
                share_of_images(each.right, confidence),
                jackknife(_apart(reference, each, first), block, confidence),
                change_of_share(first.right, each.right, confidence),
            )
        )
    return found


def jackknife(statistic: Callable[[NDArray[np.bool_]], float], block: NDArray[np.int64], confidence: float) -> Estimate:
    """A statistic of the images that a mask (n,) names, with the interval of the delete-one-block jackknife (Student's
    t with one degree of freedom fewer than blocks)."""
    value = statistic(np.ones(len(block), dtype=bool))
    names = np.unique(block)
    if len(names) < 2:
        return Estimate(value)
    left = np.array([statistic(block != name) for name in names])
    count = len(names)
    error = math.sqrt((count - 1) / count * float(((left - left.mean()) ** 2).sum()))
    half = float(stats.t.ppf((1 + confidence) / 2, count - 1)) * error
    return Estimate(value, value - half, value + half)


def _distance(reference: FeatureMoments, sample: GeneratedSample) -> Callable[[NDArray[np.bool_]], float]:
    return lambda kept: frechet_distance(reference, moments(sample.features[kept]))


def _apart(
    reference: FeatureMoments, sample: GeneratedSample, first: GeneratedSample
) -> Callable[[NDArray[np.bool_]], float]:
    one, other = _distance(reference, sample), _distance(reference, first)
    return lambda kept: one(kept) - other(kept)
