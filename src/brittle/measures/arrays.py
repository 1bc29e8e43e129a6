"""Stored columns as arrays: probabilities, and means of every image of a set, in planned order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def probability(log_p: pa.ChunkedArray | NDArray[Any]) -> Array:
    """A stored logarithm (n,) as the probability that it is of."""
    return np.exp(np.asarray(log_p).astype(np.float64))


def per_image(values: NDArray[Any], places: NDArray[np.int64], count: int) -> Array:
    """The mean (count,) of each image's values (n,), which are of the images at these places (n,); 0 of none."""
    found: Array = np.bincount(places, values, count) / np.maximum(np.bincount(places, minlength=count), 1)
    return found
