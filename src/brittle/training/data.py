"""Labelled images that a trainer reads by index, one batch at a time; kept on the device if they fit."""

from __future__ import annotations

import copy
import math
import os
from functools import cached_property

import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.images.base import ImageSet
from brittle.images.fingerprint import fingerprint
from brittle.memory import slices
from brittle.types import UNLABELLED, Batch, in_numbers

READ_AT_ONCE = 1 << 26  # numbers
HASHED = 1 << 26  # numbers of the images that are hashed: they are in memory already


class TrainingImages:
    """An image set on a device. 8-bit images are kept as bytes, others as float32; a set that would take more than its
    share of memory is read again for every batch. Several trainings may share one."""

    def __init__(self, images: ImageSet, device: torch.device | str = "cpu", *, labelled: bool = True) -> None:
        if labelled:
            check_labels(images)
        self.set, self.device = images, torch.device(device)
        self.labels, self.ids = images.labels.to(self.device), images.ids.to(self.device)
        self.pixels = _held(images, self.device)

    def __len__(self) -> int:
        return len(self.set)

    def batch(self, rows: Tensor) -> Batch:
        """The items at `rows` (B,), a tensor on the device."""
        if self.pixels is None:
            return self.set.batch(rows, self.device)
        return Batch(in_numbers(self.pixels[rows]), self.labels[rows], self.ids[rows])

    def relabelled(self, labels: Tensor) -> TrainingImages:
        """The same images with other labels (n,)."""
        other = copy.copy(self)
        other.labels = labels.to(self.device)
        return other

    def fingerprint(self) -> str:
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint(self.set, HASHED, lambda rows: self.batch(rows.to(self.device)))


def check_labels(images: ImageSet) -> None:
    if not images.origin:
        raise BrittleError(
            f"the image set {images.name!r} has no images at scale 0",
            "Train and test on untouched images: name them, clean=SPEC of the image set.",
        )
    unlabelled = (images.labels == UNLABELLED).nonzero()
    if len(unlabelled):
        name = images.names[int(unlabelled[0])]
        raise BrittleError(f"{name} of {images.name!r} has no label", "Training and test images need labels.")


def _held(images: ImageSet, device: torch.device) -> Tensor | None:
    """All pixels (n, C, H, W), uint8 or float32, on the device; None if there are too many."""
    numbers = len(images) * math.prod(images.shape)
    for dtype in (torch.uint8, torch.float32):
        if numbers * dtype.itemsize > _share(device):
            return None
        held = torch.empty(len(images), *images.shape, dtype=dtype, device=device)
        for part in slices(len(images), max(1, READ_AT_ONCE // math.prod(images.shape))):
            read = images.batch(range(len(images))[part], device).images
            held[part] = read if dtype.is_floating_point else read.mul(255).round().to(dtype)
            if not torch.equal(in_numbers(held[part]), read):
                break
        else:
            return held
    raise AssertionError("float32 represents what was read")


def _share(device: torch.device) -> int:
    """Bytes that may be used: half of a GPU's free memory, or a quarter of the machine's memory."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0]) // 2
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4
