"""Stored rows as arrays: a value for every image of a set, in planned order, and every place on a measure's axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from brittle.measures.base import ImageSetFacts

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def probability(log_p: pa.ChunkedArray | NDArray[Any]) -> Array:
    """A stored logarithm (n,) as the probability that it is of."""
    return np.exp(np.asarray(log_p).astype(np.float64))


class Spread:
    """Puts columns of rows into arrays (M images, width), whose second axis a column numbers."""

    def __init__(self, subject: ImageSetFacts, rows: pa.Table, column: str, width: int | None = None) -> None:
        self.at = subject.places(rows["image"].to_numpy()), rows[column].to_numpy()
        self.shape = len(subject), int(self.at[1].max(initial=0)) + 1 if width is None else width

    def __call__(self, values: Any, otherwise: Any = 0, only: Mask | slice = slice(None)) -> NDArray[Any]:
        """Values (n,) of the rows, of `only` some of them; what no row says is `otherwise`."""
        column = np.asarray(values)
        made = np.full(self.shape, otherwise, column.dtype)
        made[self.at[0][only], self.at[1][only]] = column[only]
        return made


def per_image(values: NDArray[Any], places: NDArray[np.int64], count: int) -> Array:
    """The mean (count,) of each image's values (n,), which are of the images at these places (n,); 0 of none."""
    found: Array = np.bincount(places, values, count) / np.maximum(np.bincount(places, minlength=count), 1)
    return found
