"""Shares and means of a fixed number of images, whatever order they lie in.

Generated images are made class by class. Brittle's betting intervals look at values one after another, which serves
for stopping early, and take them to come in no order that says anything. Here all images are there, and the intervals
are of their counts: Clopper and Pearson's (1934) for a share, Student's for a mean, Agresti and Min's (2005) for the
change of a share on the same images.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from brittle.statistics.estimate import Estimate
from brittle.statistics.fieller import normal_quantile
from brittle.statistics.intervals import binomial_bounds

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
PSEUDO_IMAGES = 2  # a half each that stays right, stays wrong, becomes right and becomes wrong


def share_of_images(right: Mask, confidence: float = 0.95) -> Estimate:
    """Of images (n,) those that are."""
    count = int(right.sum())
    return Estimate.within(count / len(right), binomial_bounds(count, len(right), confidence))


def mean_of_images(values: Array, confidence: float = 0.95) -> Estimate:
    """Of values (n,)."""
    value = float(values.mean())
    if len(values) < 2:
        return Estimate(value)
    half = float(stats.t.ppf((1 + confidence) / 2, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values)))
    return Estimate(value, value - half, value + half)


def change_of_share(before: Mask, after: Mask, confidence: float = 0.95) -> Estimate:
    """The share after less the share before, of the same images (n,)."""
    gained, lost = int((after & ~before).sum()), int((before & ~after).sum())
    value, count = (gained - lost) / len(before), len(before) + PSEUDO_IMAGES
    middle, moved = (gained - lost) / count, gained + lost + PSEUDO_IMAGES / 2
    half = normal_quantile(confidence) * math.sqrt(moved - (gained - lost) ** 2 / count) / count
    return Estimate(value, min(value, middle - half), max(value, middle + half))
