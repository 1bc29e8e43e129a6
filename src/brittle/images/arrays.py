"""Image sets over arrays in memory: kept as they are, read one batch at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.images.base import ImageSet, IndexNames
from brittle.images.pixels import Array, as_numpy, channels_last, check_pixels
from brittle.types import UNLABELLED


class ArrayReader:
    """Reads images (n, C, H, W), uint8 or float, possibly a view with reordered axes."""

    def __init__(self, images: Array) -> None:
        self.images = images

    def __call__(self, positions: Sequence[int]) -> Tensor:
        read = np.ascontiguousarray(self.images[np.asarray(positions, dtype=np.int64)])
        return torch.from_numpy(read if read.dtype == np.uint8 else read.astype(np.float32, copy=False))


def from_arrays(
    images: Any,
    labels: Any = None,
    *,
    name: str = "arrays",
    classes: Sequence[str] = (),
    ids: Any = None,
    columns: Mapping[str, Sequence[Any]] | None = None,
) -> ImageSet:
    """images (n, H, W), (n, C, H, W) or (n, H, W, C), labels (n,) or None, ids (n,) or, by default, the index."""
    pixels = as_numpy(images)
    if pixels.ndim not in (3, 4):
        raise BrittleError(
            f"{name}: images have the shape {tuple(pixels.shape)}", "Give (n, H, W), (n, C, H, W) or (n, H, W, C)."
        )
    if len(pixels) == 0:
        raise BrittleError(f"the image set {name!r} is empty", "Choose a source with at least one image.")
    check_pixels(pixels, name)
    if pixels.ndim == 3:
        pixels = pixels[:, None]
    elif channels_last(pixels.shape, prefer_first=True):
        pixels = np.moveaxis(pixels, -1, 1)
    numbers, found = label_numbers(labels, len(pixels), name)
    keys = torch.arange(len(pixels)) if ids is None else whole_numbers(ids, f"{name}: ids")
    names = IndexNames(keys.numpy())
    return ImageSet(name, keys, numbers, tuple(classes) or found, names, dict(columns or {}), ArrayReader(pixels))


def label_numbers(labels: Any, count: int, name: str) -> tuple[Tensor, tuple[str, ...]]:
    """Labels (n,) as int64, and the class names if the labels were words (sorted, as for folders)."""
    if labels is None:
        return torch.full((count,), UNLABELLED, dtype=torch.int64), ()
    values = as_numpy(labels)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise BrittleError(
            f"{name}: labels have the shape {tuple(values.shape)}",
            f"Give one number per image: ({count},), not one-hot rows.",
        )
    if values.dtype.kind == "U":
        words, numbers = np.unique(values, return_inverse=True)
        return torch.from_numpy(numbers.astype(np.int64)), tuple(map(str, words))
    return whole_numbers(values, f"{name}: labels"), ()


def whole_numbers(values: Any, what: str) -> Tensor:
    """Numbers (n,) as int64; refused if that would change them."""
    array = as_numpy(values)
    if array.ndim == 1 and array.dtype.kind in "iufb":
        with np.errstate(invalid="ignore"):
            whole = array.astype(np.int64)
        if np.array_equal(whole, array) and (array.dtype.kind != "u" or (whole >= 0).all()):
            return torch.from_numpy(whole)
    raise BrittleError(f"{what} are not whole numbers ({array.dtype}, shape {tuple(array.shape)})", "Give int64 (n,).")
