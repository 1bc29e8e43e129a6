"""npz files: named arrays of images and labels, and any further columns of the same length."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple

import numpy as np

from brittle.class_names import class_names
from brittle.errors import BrittleError
from brittle.files import real_path, size_of
from brittle.images import register
from brittle.images.arrays import from_arrays
from brittle.images.base import ImageSet
from brittle.images.limits import GIGABYTES, check_array, check_bytes, reason
from brittle.images.pixels import Array
from brittle.registry import did_you_mean, option

# Where a file holds both, such as Keras's mnist.npz, the test half comes before the training half.
PAIRS = (
    ("images", "labels"),
    ("x", "y"),
    ("x_test", "y_test"),
    ("test_images", "test_labels"),
    ("data", "labels"),
    ("x_train", "y_train"),
    ("train_images", "train_labels"),
)
SINGLE = b"\x93NUMPY"  # what a file of one array begins with
COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ENCRYPTED = 0x1
MOST_ARRAYS = 1000
LONGEST = 2**62  # entries along an axis: numpy itself fails on lengths beyond 63 bits
LONGEST_HEADER = 1 << 16


@register("npz")
@dataclass(frozen=True)
class Npz:
    """Images (n, H, W), (n, C, H, W) or (n, H, W, C) and labels (n,), by key; `ids` and `classes` if present."""

    file: str = option(MISSING, "the .npz file", positional=True)
    images_key: str | None = option(None, "key of the images; by default images, x, x_test, …")
    labels_key: str | None = option(None, "key of the labels; by default labels, y, y_test, …")
    classes: str | tuple[str, ...] | None = option(None, "class names a/b/c, or a text file with one per line")

    gigabytes: float = option(GIGABYTES, "most that the arrays may take in memory, in GB; more is refused", above=0)

    def load(self) -> ImageSet:
        file = Path(real_path(self.file))
        size_of(file)
        try:
            with file.open("rb") as stream:
                if stream.read(len(SINGLE)) == SINGLE:
                    raise BrittleError(
                        f"{self.file} holds a single array, not an npz archive", "Save it with numpy.savez."
                    )
            with zipfile.ZipFile(file) as archive:
                return self._read(archive)
        except (OSError, EOFError, ValueError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
            raise BrittleError(
                f"{self.file} can't be read: {reason(error)}", "Save it again with numpy.savez."
            ) from error

    def _read(self, archive: zipfile.ZipFile) -> ImageSet:
        heads = headers(archive)
        images_key, labels_key = self._keys(heads)
        count = heads[images_key].shape[:1]
        named = [key for key in (images_key, labels_key, "ids") if key in heads]
        extra = [key for key, head in heads.items() if key not in {*named, "classes"} and head.shape == count]
        extra = [key for key in extra if not heads[key].dtype.hasobject]
        named_inside = self.classes is None and "classes" in heads and heads["classes"].dtype.kind == "U"
        named_inside = named_inside and heads["classes"].shape != (0,)
        inside = ["classes"] if named_inside else []
        wanted = [*named, *extra, *inside]
        for key in (*named, *inside):
            self._check(heads[key], key)
        if named_inside and len(heads["classes"].shape) != 1:
            raise BrittleError(f"{self.file}: 'classes' is not a list of names", "Save it with one name per class.")
        check_bytes(sum(heads[key].size for key in wanted), self.gigabytes, f"{self.file}")
        arrays = {key: read_array(archive, heads[key]) for key in wanted}
        return from_arrays(
            arrays[images_key],
            None if labels_key is None else arrays[labels_key],
            name=Path(self.file).name,
            classes=tuple(map(str, arrays["classes"])) if named_inside else class_names(self.classes),
            ids=arrays.get("ids"),
            columns={key: arrays[key] for key in extra},  # type: ignore[misc]
        )

    def _keys(self, heads: Mapping[str, ArrayHeader]) -> tuple[str, str | None]:
        for key in (self.images_key, self.labels_key):
            if key is not None and key not in heads:
                raise BrittleError(f"{self.file} has no array {key!r}", did_you_mean(key, heads))
        image, label = next(((x, y) for x, y in PAIRS if x in heads), (None, None))
        if self.images_key is not None:
            image, label = self.images_key, dict(PAIRS).get(self.images_key)
        if image is None:
            raise BrittleError(
                f"{self.file} has no array named images or x",
                f"Set images-key=… to one of: {', '.join(sorted(heads))}." if heads else "It holds no arrays at all.",
            )
        return image, self.labels_key or next((key for key in (label, "labels", "label", "y") if key in heads), None)

    def _check(self, head: ArrayHeader, key: str) -> None:
        if head.dtype.hasobject:
            raise BrittleError(
                f"{self.file}: {key!r} is an array of Python objects, and reading it would run code",
                "Save it as a plain type: numbers, or fixed-width text.",
            )
        check_array(head.shape, head.dtype.itemsize, self.gigabytes, f"{self.file}: {key!r}")


class ArrayHeader(NamedTuple):
    """Shape and type of an array, known without reading it, so that an unused training half is never loaded."""

    entry: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def headers(archive: zipfile.ZipFile) -> dict[str, ArrayHeader]:
    """Shape and type of every array of an npz file."""
    names = archive.namelist()
    if len(names) > MOST_ARRAYS:
        raise ValueError(f"it holds {len(names)} arrays, and at most {MOST_ARRAYS} are read")
    twice, count = Counter(name.removesuffix(".npy") for name in names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise ValueError(f"it holds two arrays called {twice!r}")
    found = {}
    for name in names:
        info = archive.getinfo(name)
        if info.flag_bits & ENCRYPTED:
            raise ValueError(f"{name!r} is encrypted")
        if info.compress_type not in COMPRESSIONS:
            raise ValueError(f"{name!r} is compressed in a way that numpy does not write")
        with archive.open(name) as stream, suppress(ValueError, SyntaxError, TypeError, TokenError, RecursionError):
            # A header may declare itself to be gigabytes long: numpy would read it all before refusing it.
            start = io.BytesIO(stream.read(LONGEST_HEADER))
            version = np.lib.format.read_magic(start)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = read(start)
            if all(0 <= length <= LONGEST for length in shape):
                found[name.removesuffix(".npy")] = ArrayHeader(name, shape, dtype)
    return found


def read_array(archive: zipfile.ZipFile, head: ArrayHeader) -> Array:
    """The values of an array whose header was found to be in order."""
    with archive.open(head.entry) as stream:
        return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
