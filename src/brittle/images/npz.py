"""npz files: named arrays of images and labels, and any further columns of the same length."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from brittle.errors import BrittleError
from brittle.images import register
from brittle.images.arrays import class_names, from_arrays
from brittle.images.base import ImageSet
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


@register("npz")
@dataclass(frozen=True)
class Npz:
    """Images (n, H, W), (n, C, H, W) or (n, H, W, C) and labels (n,), by key; `ids` and `classes` if present."""

    file: str = option(MISSING, "the .npz file", positional=True)
    images_key: str | None = option(None, "key of the images; by default images, x, x_test, …")
    labels_key: str | None = option(None, "key of the labels; by default labels, y, y_test, …")
    classes: str | tuple[str, ...] | None = option(None, "class names a/b/c, or a text file with one per line")

    def load(self) -> ImageSet:
        try:
            with np.load(self.file, allow_pickle=False) as archive:
                if not isinstance(archive, np.lib.npyio.NpzFile):
                    raise BrittleError(
                        f"{self.file} holds a single array, not an npz archive", "Save it with numpy.savez."
                    )
                return self._read(archive)
        except FileNotFoundError:
            raise BrittleError(f"there is no file {self.file}", "Check the path.") from None
        except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            if "pickle" in reason:
                reason = "it holds Python objects or is not an archive of plain arrays, and unpickling would run code"
            raise BrittleError(f"{self.file} can't be read: {reason}", "Save it again with numpy.savez.") from error

    def _read(self, archive: Mapping[str, Any]) -> ImageSet:
        heads = headers(Path(self.file))
        images_key, labels_key = self._keys(heads)
        images = self._array(archive, heads, images_key)
        labels = None if labels_key is None else self._array(archive, heads, labels_key)
        used = {images_key, labels_key, "ids", "classes"}
        columns = {
            key: archive[key]
            for key, head in heads.items()
            if key not in used and head.shape == images.shape[:1] and not head.dtype.hasobject
        }
        classes = class_names(self.classes)
        if not classes and "classes" in heads and heads["classes"].dtype.kind == "U":
            classes = tuple(map(str, archive["classes"]))
        ids = self._array(archive, heads, "ids") if "ids" in heads else None
        return from_arrays(images, labels, name=Path(self.file).name, classes=classes, ids=ids, columns=columns)

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
                f"Set images-key=… to one of: {', '.join(sorted(heads))}.",
            )
        return image, self.labels_key or next((key for key in (label, "labels", "label", "y") if key in heads), None)

    def _array(self, archive: Mapping[str, Any], heads: Mapping[str, ArrayHeader], key: str) -> Array:
        if heads[key].dtype.hasobject:
            raise BrittleError(
                f"{self.file}: {key!r} is an array of Python objects, and reading it would run code",
                "Save it as a plain type: numbers, or fixed-width text.",
            )
        return np.asarray(archive[key])


class ArrayHeader(NamedTuple):
    """Shape and type of an array, known without reading it, so that an unused training half is never loaded."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def headers(file: Path) -> dict[str, ArrayHeader]:
    """Shape and type of every array of an npz file."""
    found = {}
    with zipfile.ZipFile(file) as archive:
        for name in archive.namelist():
            with archive.open(name) as stream, suppress(ValueError):
                version = np.lib.format.read_magic(stream)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                shape, _, dtype = read(stream)
                found[name.removesuffix(".npy")] = ArrayHeader(shape, dtype)
    return found
