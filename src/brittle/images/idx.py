"""idx files, the format of MNIST: two zero bytes, a type, a number of axes, their lengths, the values."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from dataclasses import MISSING, dataclass
from pathlib import Path

import numpy as np

from brittle.errors import BrittleError
from brittle.images import register
from brittle.images.arrays import class_names, from_arrays
from brittle.images.base import ImageSet
from brittle.images.pixels import Array
from brittle.registry import option

TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


@register("idx")
@dataclass(frozen=True)
class Idx:
    """Images (n, H, W) and labels (n,) in idx files, plain or gzipped; an image's id is its index."""

    images: str = option(MISSING, "file of images", positional=True)
    labels: str | None = option(None, "file of labels; without it the set is unlabelled")
    classes: str | tuple[str, ...] | None = option(None, "class names a/b/c, or a text file with one per line")

    def load(self) -> ImageSet:
        images = read_idx(self.images)
        if images.ndim not in (3, 4):
            what = "labels" if images.ndim == 1 else f"{images.ndim} axes"
            raise BrittleError(
                f"{self.images} holds {what}, not images", "Name the file of images first, then labels=…."
            )
        labels = None if self.labels is None else read_idx(self.labels)
        if labels is not None and labels.ndim != 1:
            raise BrittleError(
                f"{self.labels} holds {labels.ndim} axes, not labels", "Name the file of labels, labels=…."
            )
        return from_arrays(images, labels, name=Path(self.images).name, classes=class_names(self.classes))


def read_idx(file: str | Path) -> Array:
    """The array in an idx file, plain or gzipped."""
    data = memoryview(_content(Path(file)))
    if len(data) < 4 or data[0] or data[1] or data[2] not in TYPES or not data[3]:
        raise BrittleError(f"{file} is not an idx file", "If it has another format, use npz: or folder:.")
    dtype, axes = np.dtype(TYPES[data[2]]), data[3]
    start = 4 + 4 * axes
    if len(data) < start:
        raise BrittleError(f"{file} is truncated in its header", "Download it again.")
    shape = struct.unpack(f">{axes}I", data[4:start])
    wanted = math.prod(shape) * dtype.itemsize
    if len(data) - start != wanted:
        problem = "truncated" if len(data) - start < wanted else "too long"
        size = "×".join(map(str, shape))
        raise BrittleError(
            f"{file} is {problem}: {size} values take {wanted} bytes, but there are {len(data) - start}",
            "Download it again.",
        )
    values = np.frombuffer(data[start:], dtype=dtype).reshape(shape)
    return values.astype(dtype.newbyteorder("="), copy=False)


def _content(file: Path) -> bytes:
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        raise BrittleError(f"there is no file {file}", "Check the path.") from None
    except OSError as error:
        raise BrittleError(f"{file} can't be read: {error.strerror}", "Name a readable file.") from error
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        return gzip.decompress(data)
    except EOFError:
        raise BrittleError(f"{file} is truncated: its gzip stream ends early", "Download it again.") from None
    except (OSError, zlib.error) as error:
        raise BrittleError(f"{file} is damaged: {error}", "Download it again.") from error
