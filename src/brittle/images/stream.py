"""Images that come one after another and can't be asked for by place: read once, and kept encoded in a file that goes
with the image set, so that memory does not grow with their number."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from brittle.errors import BrittleError
from brittle.files import size_of
from brittle.images.base import ImageSet, IndexNames
from brittle.images.encoded import MOST_BYTES, EncodedOptions, EncodedReader, Extents
from brittle.images.items import one_by_one
from brittle.images.limits import GIGABYTE, reason
from brittle.images.packed import LabelList
from brittle.images.pixels import from_anything

LONGEST_NUMBER = 18  # digits: Python itself refuses to convert thousands
SPARED = 1 << 30  # bytes of the disk that are left free: a stream may never end


def from_stream(
    items: Iterable[Any],
    *,
    name: str = "stream",
    classes: Sequence[str] = (),
    options: EncodedOptions | None = None,
    most: int | None = None,
    located: Callable[[str], Path] = Path,
) -> ImageSet:
    """Items (image, label) or dictionaries, or batches of them, the first `most` or all; ids are their places in the
    stream. Where an item only names an image's file, `located` says where that lies."""
    # The file is closed, and thereby removed, with the reader that holds it.
    kept = tempfile.NamedTemporaryFile(prefix="brittle-stream-")  # noqa: SIM115
    extents, labels, end = Extents(), LabelList(), 0
    for place, (image, label) in enumerate(islice(one_by_one(items), most)):
        content = encoded(image, f"index {place}", located)
        if shutil.disk_usage(tempfile.gettempdir()).free < SPARED + len(content):
            raise BrittleError(
                f"{name}: {place} images fill the disk, and there are more",
                "Take fewer, or set TMPDIR to a larger disk.",
            )
        kept.write(content)
        extents.add(0, end, len(content))
        labels.add(label_of(label, place))
        end += len(content)
    kept.flush()
    count = len(extents)
    if count == 0:
        raise BrittleError(f"the image set {name!r} is empty", "Choose a source with at least one image.")
    numbers, words = labels.numbers(name)
    ids = torch.arange(count)
    names = IndexNames(ids.numpy())
    reader = EncodedReader((Path(kept.name),), extents, names, options or EncodedOptions(), held=kept).settled()
    return ImageSet(name, ids, numbers, tuple(classes) or words, names, {}, reader)


def encoded(image: Any, name: str, located: Callable[[str], Path] = Path) -> bytes:
    """An image as the bytes of a file: as they are where it comes encoded, and otherwise without loss."""
    if isinstance(image, Mapping) and ("bytes" in image or "path" in image):  # as Hugging Face keeps them
        image = image.get("bytes") or image.get("path")
    if isinstance(image, bytes | bytearray):
        return bytes(image)
    if isinstance(image, str | os.PathLike):
        file = located(os.fspath(image))
        if size_of(file) > MOST_BYTES:
            raise BrittleError(f"{name} is larger than {MOST_BYTES // GIGABYTE} GB", "Leave it out.")
        try:
            return file.read_bytes()
        except OSError as error:
            raise BrittleError(f"{name} can't be read: {reason(error)}", "Check the path.") from error
    pixels = from_anything(image, name)
    if pixels.dtype != np.uint8:
        levels = np.rint(pixels * 255)
        if not np.allclose(pixels * 255, levels, atol=1e-3):
            raise BrittleError(
                f"{name} has values between the 256 levels of an 8-bit image, which a stream can't keep",
                "Give a Dataset that is read by index, or 8-bit images.",
            )
        pixels = levels.astype(np.uint8)
    if pixels.shape[0] not in (1, 3):
        raise BrittleError(f"{name} has {pixels.shape[0]} channels", "Give images of 1 or 3 channels.")
    stream = io.BytesIO()
    Image.fromarray(pixels[0] if pixels.shape[0] == 1 else np.moveaxis(pixels, 0, -1)).save(
        stream, "PNG", compress_level=1
    )
    return stream.getvalue()


def label_of(label: Any, place: int) -> int | str | None:
    """A label as a number or a word: webdataset gives them as text."""
    if isinstance(label, bytes):
        label = label.decode("utf-8", "replace").strip()
    if isinstance(label, str):
        return int(label) if label.isdecimal() and label.isascii() and len(label) <= LONGEST_NUMBER else label
    if label is None:
        return None
    values = np.asarray(label)
    if values.size != 1 or values.dtype.kind not in "iub" or int(values.reshape(())) != values.reshape(()):
        raise BrittleError(f"item {place} has the label {label!r}", "Labels are whole numbers or words.")
    return int(values.reshape(()))
