"""How far images are from the one at scale 0 of their class and seed: whether a slider is a dial, and how strong.

The change is the mean absolute difference of pixels, as a share of their range. It is the mean over a benchmark's pairs
of class and seed, estimated from some that are drawn without replacement: to decode all of a large one takes an hour.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from PIL import Image

from brittle.random import key_of
from brittle.statistics.estimate import Estimate
from brittle.statistics.intervals import Bounds, betting_bounds

PAIRS = 32  # of class and seed, at most
CONFIDENCE = 0.95


class PixelChange:
    """Reads along while the pictures of some rows pass by; those of a class and seed begin with the one at scale 0."""

    def __init__(self, rows: pa.Table) -> None:
        self._columns = {name: rows[name].to_pylist() for name in ("label", "seed", "shift", "scale")}
        every = set(zip(self._columns["label"], self._columns["seed"], strict=True))
        self._population = len(every)
        self._pairs = set(sorted(every, key=lambda pair: key_of(f"change/{pair}"))[:PAIRS])
        self._origin: NDArray[np.float64] = np.zeros(0)
        self._found: dict[tuple[str, float], list[float]] = {}

    def along(self, pictures: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """The same tables."""
        first = 0
        for table in pictures:
            for place in range(first, first + table.num_rows):
                if (self._columns["label"][place], self._columns["seed"][place]) in self._pairs:
                    self._look(place, pixels_of_file(table["picture"][place - first].as_py()))
            first += table.num_rows
            yield table

    def _look(self, place: int, pixels: NDArray[np.float64]) -> None:
        shift, scale = self._columns["shift"][place], self._columns["scale"][place]
        if not shift:
            self._origin = pixels
            return
        self._found.setdefault((shift, scale), []).append(change(pixels, self._origin))

    def of(self, shift: str) -> list[dict[str, Any]]:
        """By scale, for a summary: at 0 nothing is changed. Intervals are for the mean over all pairs; over as many as
        there are it is exact."""
        scales = [scale for name, scale in self._found if name == shift]
        said: list[dict[str, Any]] = [{"scale": 0.0, "pairs": len(self._pairs), "change": 0.0, "change_interval": None}]
        if not scales:
            return said
        values = np.array([self._found[shift, scale] for scale in scales])
        bounds = betting_bounds(values, CONFIDENCE, planned=values.shape[1], population=self._population)
        for scale, mean, low, high in zip(scales, values.mean(1).tolist(), bounds.low, bounds.high, strict=True):
            found = Estimate.within(mean, Bounds(low, high))
            said.append({"scale": scale, "pairs": values.shape[1], **found.named("change")})
        return said


def pixels_of_file(content: bytes) -> NDArray[np.float64]:
    """Pixels in [0, 1] of a picture's file."""
    return np.asarray(Image.open(io.BytesIO(content)), dtype=np.float64) / 255


def change(pixels: NDArray[np.float64], origin: NDArray[np.float64]) -> float:
    return float(np.abs(pixels - origin).mean())
