"""idx files, the format of MNIST: two zero bytes, a type, a number of axes, their lengths, the values."""

from __future__ import annotations

import gzip
import io
import struct
import zlib
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import IO

import numpy as np

from brittle.class_names import class_names
from brittle.errors import BrittleError
from brittle.files import real_path, size_of
from brittle.images import register
from brittle.images.arrays import from_arrays
from brittle.images.base import ImageSet
from brittle.images.limits import GIGABYTES, check_array, reason, times
from brittle.images.pixels import Array
from brittle.registry import option

TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
MOST_AXES = 4
GZIP = b"\x1f\x8b"
CHUNK = 1 << 20


@register("idx")
@dataclass(frozen=True)
class Idx:
    """Images (n, H, W) and labels (n,) in idx files, plain or gzipped; an image's id is its index."""

    images: str = option(MISSING, "file of images", positional=True)
    labels: str | None = option(None, "file of labels; without it the set is unlabelled")
    classes: str | tuple[str, ...] | None = option(None, "class names a/b/c, or a text file with one per line")
    gigabytes: float = option(GIGABYTES, "most that either file may take in memory, in GB; more is refused", above=0)

    def load(self) -> ImageSet:
        images = read_idx(real_path(self.images), self.gigabytes)
        if images.ndim not in (3, 4):
            what = "labels" if images.ndim == 1 else f"{images.ndim} axes"
            raise BrittleError(
                f"{self.images} holds {what}, not images", "Name the file of images first, then labels=…."
            )
        labels = None if self.labels is None else read_idx(real_path(self.labels), self.gigabytes)
        if labels is not None and labels.ndim != 1:
            raise BrittleError(
                f"{self.labels} holds {labels.ndim} axes, not labels", "Name the file of labels, labels=…."
            )
        return from_arrays(images, labels, name=Path(self.images).name, classes=class_names(self.classes))


def read_idx(file: str | Path, gigabytes: float = GIGABYTES) -> Array:
    """The array in an idx file, plain or gzipped: its header, then no more than the header declares."""
    size = size_of(Path(file))
    try:
        with open(file, "rb") as plain:
            zipped = plain.read(len(GZIP)) == GZIP
            plain.seek(0)
            if zipped:
                with gzip.GzipFile(fileobj=plain) as stream:
                    return _array(stream, None, file, gigabytes)
            return _array(plain, size, file, gigabytes)
    except EOFError:
        raise BrittleError(f"{file} is truncated: its gzip stream ends early", "Download it again.") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise BrittleError(f"{file} is damaged: {error}", "Download it again.") from error
    except OSError as error:
        raise BrittleError(f"{file} can't be read: {reason(error)}", "Name a readable file.") from error


def _array(stream: IO[bytes] | io.BufferedIOBase, size: int | None, file: str | Path, gigabytes: float) -> Array:
    """The array in a stream; `size` is what the stream holds where that is known."""
    head = stream.read(4)
    if len(head) < 4 or head[0] or head[1] or head[2] not in TYPES or not head[3]:
        raise BrittleError(f"{file} is not an idx file", "If it has another format, use npz: or folder:.")
    dtype, axes = np.dtype(TYPES[head[2]]), head[3]
    if axes > MOST_AXES:
        raise BrittleError(f"{file} holds {axes} axes, neither images nor labels", "Name another file.")
    lengths = stream.read(4 * axes)
    if len(lengths) < 4 * axes:
        raise BrittleError(f"{file} is truncated in its header", "Download it again.")
    shape = struct.unpack(f">{axes}I", lengths)
    wanted = check_array(shape, dtype.itemsize, gigabytes, str(file))
    there = None if size is None else size - 4 - 4 * axes
    if there is None or there == wanted:
        data, there = _read(stream, wanted)
    if there != wanted:
        problem, found = ("truncated", str(there)) if there < wanted else ("too long", "more")
        raise BrittleError(
            f"{file} is {problem}: {times(shape)} values take {wanted} bytes, but there are {found}",
            "Download it again.",
        )
    return data.view(dtype).reshape(shape).astype(dtype.newbyteorder("="), copy=False)


def _read(stream: IO[bytes] | io.BufferedIOBase, wanted: int) -> tuple[Array, int]:
    """The next `wanted` bytes, and how many there were, counting one beyond."""
    data, filled = np.empty(wanted, dtype=np.uint8), 0
    while filled < wanted:
        part = stream.read(min(CHUNK, wanted - filled))
        if not part:
            return data, filled
        data[filled : filled + len(part)] = np.frombuffer(part, dtype=np.uint8)
        filled += len(part)
    return data, filled + len(stream.read(1))
