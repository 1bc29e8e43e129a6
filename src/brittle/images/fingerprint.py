"""The one fingerprint of an image set: what tells it apart from another, without reading all of a large one."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from brittle.images.base import ImageSet, MakesImages, SubsetReader
from brittle.images.pixels import in_bytes
from brittle.images.selection import ChosenImages
from brittle.types import Batch

HASHED = 1 << 24  # numbers
FEWEST = 8  # images that are always looked at
READ_AT_ONCE = 256


def fingerprint(images: ImageSet, numbers: int = HASHED, read: Callable[[Tensor], Batch] | None = None) -> str:
    """A hash of ids and labels in order, of all shapes where they differ, and of the pixels of images spread evenly
    over the set, as many as make up `numbers`. `read` gives a batch where images are at hand already."""
    digest = hashlib.blake2b(images.ids.numpy().tobytes(), digest_size=16)
    digest.update(images.labels.numpy().tobytes())
    inner: object = images.reader.base if isinstance(images.reader, SubsetReader) else images.reader
    made = inner.identity if isinstance(inner, MakesImages) else ""
    digest.update(made.encode())
    seen = 0 if made else min(len(images), max(FEWEST, numbers // math.prod(images.shape)))
    for rows in torch.split(torch.arange(seen) * len(images) // max(1, seen), READ_AT_ONCE) if seen else ():
        batches = [group.batch for group in images.groups(rows, stored=True)] if read is None else [read(rows)]
        for batch in batches:
            digest.update(in_bytes(batch.images))
    if len(images.shapes) > 1:
        digest.update(repr(images.shapes).encode())  # the plan depends on them
    for shift in images.shifts.values():
        digest.update(shift.fingerprint())
    return f"{len(images)} images, {digest.hexdigest()}"


class Fingerprints(NamedTuple):
    """What chosen images are known by."""

    number: int
    images: str  # those that were chosen
    source: str  # what they were chosen from, whatever their number


def fingerprints(chosen: ChosenImages) -> Fingerprints:
    """The source is known by all ids and labels, and by the pixels of the image that is always the first."""
    if chosen.prints is not None:
        return chosen.prints
    order = torch.argsort(chosen.whole.ids)
    digest = hashlib.blake2b(digest_size=16)
    for values in (chosen.whole.ids, chosen.whole.labels):
        digest.update(values[order].numpy().tobytes())
    digest.update(fingerprint(chosen.images.take([0])).encode())
    return Fingerprints(len(chosen.images), fingerprint(chosen.images), digest.hexdigest())
