"""Which images the out-of-class filter removes (CNS-Bench, section 3.4).

Four scores say how much an image still shows its class: text alignment (equation 4) to "a picture of a {class}" and to
"a picture of a {class} in {shift}", and the similarity (equation 5) of two encoders' features to those of the image at
scale 0. A score fires where it is at or below its threshold. An image goes where at least two of four fire, and a seed
stays under a shift only if the images at all of its scales stay.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from brittle.errors import BrittleError

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
SCORES = ("text", "text_in_shift", "first_image", "second_image")
ROUNDING = 1e-9  # 0.9 · 10 is a little more than 9 in floating point


def threshold(scores: Array, share: float) -> float:
    """The lowest t with at least this share of the scores (n,) of out-of-class images at or below it."""
    if not len(scores):
        raise BrittleError(
            "no labelled image is out of class, so no threshold can be chosen",
            "Label more images, or apply thresholds of an earlier filter.",
        )
    return float(np.sort(scores)[max(1, math.ceil(share * len(scores) - ROUNDING)) - 1])


def thresholds(scores: Array, out: Mask, share: float) -> Array:
    """Of scores (n, k), k thresholds: each alone removes at least this share of the images that are `out` (n,)."""
    return np.array([threshold(column[out], share) for column in scores.T])


def fires(scores: Array, limits: Array) -> Mask:
    """(n, k): which scores speak against an image."""
    return scores <= limits


def removed(scores: Array, limits: Array, votes: int) -> Mask:
    """(n,): the images that at least so many scores speak against."""
    return np.asarray(fires(scores, limits).sum(1) >= votes)


def kept_paths(path: NDArray[np.int64], gone: Mask) -> Mask:
    """(n,): the images of paths (a seed of a class under a shift) of which no image is gone."""
    broken = np.zeros(int(path.max()) + 1 if len(path) else 0, dtype=bool)
    np.logical_or.at(broken, path, gone)
    return ~broken[path]
