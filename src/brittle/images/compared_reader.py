"""Images of somebody else's dataset must be the same whenever they are read: a random transform in it would make "this
image" another one in every row.

A few, spread evenly, are read twice before work begins, and whatever is read again later is compared with what it was.
Two reads under a flip of probability 0.1 agree with probability 0.82, so 32 pairs all agree with 0.82³² = 0.0017.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor

from brittle.errors import BrittleError
from brittle.images.base import ImageSet, Reader, SubsetReader
from brittle.images.pixels import Array

READS = 64  # before work begins: of 32 images twice each, or of fewer more often


class ComparedReader:
    """Another reader whose images are compared with what they were when they were first read."""

    def __init__(self, base: Reader, title: str, count: int) -> None:
        self._base, self._title = base, title
        self._seen = np.zeros(count, dtype=np.uint64)

    def __getattr__(self, name: str) -> Any:
        """`shapes` and `shape_samples`, where the other has them."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._base, name)

    def __call__(self, positions: Sequence[int]) -> Tensor | list[Array]:
        read = self._base(positions)
        for place, image in zip(positions, read, strict=True):
            found = _hash(np.asarray(image))
            if self._seen[place] not in (0, found):
                raise BrittleError(
                    f"{self._title}: the image at index {place} differs from what it was when it was read before",
                    "Turn off its random transforms: all that is said of an image must be of the same image.",
                )
            self._seen[place] = found
        return read


def with_comparison(images: ImageSet) -> ImageSet:
    """The set itself if its reader is one of Brittle's own, which read the same each time; otherwise the same set,
    tried and compared from now on."""
    inner: Any = images.reader.base if isinstance(images.reader, SubsetReader) else images.reader
    if str(getattr(inner, "__module__", "")).partition(".")[0] == __name__.partition(".")[0]:
        return images
    order = images.reader.order if isinstance(images.reader, SubsetReader) else np.arange(len(images))
    reader = ComparedReader(inner, images.name, int(order.max()) + 1)
    read_twice(reader, order)
    return replace(images, reader=SubsetReader(reader, order) if inner is not images.reader else reader)


def read_twice(reader: Reader, places: np.ndarray[Any, Any]) -> None:
    """Reads some of the images at `places`, spread evenly, more than once."""
    some = spread(len(places))
    for _ in range(-(-READS // len(some))):
        for place in some:
            reader([int(places[place])])


def spread(count: int) -> list[int]:
    """Places of at most READS / 2 of so many images, spread evenly."""
    chosen = min(count, READS // 2)
    return [number * count // chosen for number in range(chosen)]


def _hash(image: Array) -> np.uint64:
    digest = hashlib.blake2b(repr((image.shape, image.dtype.str)).encode(), digest_size=8)
    digest.update(np.ascontiguousarray(image).data)
    return np.uint64(int.from_bytes(digest.digest(), "big") | 1)  # 0: not read yet
