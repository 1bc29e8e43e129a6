"""CIFAR-C's layout (Hendrycks & Dietterich 2019): arrays CORRUPTION.npy with the images of every severity in turn.

labels.npy holds their labels. The images at scale 0 are another image set, in the same order, or paths begin at
severity 1.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from brittle.class_names import class_names
from brittle.contained_files import ContainedFiles
from brittle.errors import BrittleError
from brittle.files import printable, real_path, size_of
from brittle.images import register
from brittle.images.arrays import ArrayReader, whole_numbers
from brittle.images.base import ImageSet, IndexNames, LazyNames, SubsetReader
from brittle.images.limits import reason
from brittle.images.pixels import Array, channels_last
from brittle.images.scales.clean import HELP, opened_clean, unnamed
from brittle.images.scales.gather import ShiftChoice, chosen_shifts
from brittle.images.scales.shift import StoredShift
from brittle.registry import option
from brittle.types import UNLABELLED

LABELS = "labels"


@register("cifar-c")
@dataclass(frozen=True)
class CifarC(ShiftChoice):
    """CIFAR-C's arrays: the images of `clean`, where it is given, and every corruption in a nuisance's place, its
    severities 1, 2, … as scales."""

    in_scales: ClassVar[bool] = True

    path: str = option(MISSING, "the folder that holds the corruptions' .npy files", positional=True)
    clean: Any = option(None, f"{HELP}, in the same order; without it there is no drop and no rCE", image_set=True)
    severities: int = option(5, "how many each array holds", least=1)
    classes: str | tuple[str, ...] | None = option(
        None, "class names a/b/c, or a text file, where no clean images tell"
    )

    def load(self) -> ImageSet:
        root = Path(real_path(self.path))
        if not root.is_dir():
            raise BrittleError(f"there is no folder {self.path}", "Name the folder that holds the .npy files.")
        clean = opened_clean(self.clean, self.path)
        title = printable(root.resolve().name or str(root))
        own = ContainedFiles(root, outside=self.outside)
        files = {file.stem: own.path(file.name) for file in root.glob("*.npy")}
        there = {printable(stem): file for stem, file in files.items() if stem != LABELS}
        if not there:
            raise BrittleError(f"{self.path} has no corruptions", "They are called CORRUPTION.npy.")
        chosen = chosen_shifts(title, list(there), self.shifts)
        if clean is None:
            clean = self._standing_in(root, there[chosen[0]], title)
        arrays = {shift: _images(there[shift], len(clean), self.severities) for shift in chosen}
        labels = root / f"{LABELS}.npy"
        if labels.is_file():
            clean = _with_labels(clean, _labels(labels, len(clean), self.severities))
        order = np.argsort(clean.ids.numpy())
        shifts = {}
        for shift, pixels in arrays.items():
            positions = order[:, None] + len(clean) * np.arange(self.severities)
            name = self.prefix + shift
            shifts[name] = StoredShift(
                name,
                tuple(float(each) for each in range(1, self.severities + 1)),
                clean.ids.numpy()[order],
                positions,
                ArrayReader(pixels),
                ArrayRowNames(there[shift].name, len(pixels)),
                origin=clean.origin,
            )
        return replace(clean, name=title, shifts=shifts)

    def _standing_in(self, root: Path, array: Path, title: str) -> ImageSet:
        """The images of an array at severity 1, for want of those at scale 0; ids count them."""
        pixels = opened(array)
        count, left = divmod(len(pixels) if pixels.ndim else 0, self.severities)
        if left or not count:
            raise BrittleError(
                f"{array} has {len(pixels) if pixels.ndim else 0} images: not {self.severities} severities of the same",
                "Say how many severities each array holds: severities=….",
            )
        ids = torch.arange(count)
        labels = root / f"{LABELS}.npy"
        if not labels.is_file():
            raise BrittleError(f"{root} has no {labels.name}, so its images have no labels", "Save them there.")
        return ImageSet(
            title,
            ids,
            _labels(labels, count, self.severities),
            class_names(self.classes),
            IndexNames(ids.numpy()),
            {},
            SubsetReader.of(ArrayReader(_images(array, count, self.severities)), ids.numpy()),
            notes=(unnamed(title, "npz:cifar10.npz"),),
            origin=False,
        )


class ArrayRowNames(LazyNames):
    """ "fog.npy, row 17" for each image of an array."""

    def __init__(self, file: str, count: int) -> None:
        self.file, self.rows = file, count

    def __len__(self) -> int:
        return self.rows

    def word(self, place: int) -> str:
        return f"{self.file}, row {place}"


def opened(file: Path) -> Array:
    """An array, of which nothing is read before it is needed."""
    size_of(file)
    try:
        return np.asarray(np.load(file, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError, EOFError) as error:
        raise BrittleError(f"{file} can't be read: {reason(error)}", "Save it again with numpy.save.") from error


def _images(file: Path, count: int, severities: int) -> Array:
    """Images (severities · count, C, H, W), uint8."""
    pixels = opened(file)
    if pixels.ndim != 4 or pixels.dtype != np.uint8:
        raise BrittleError(
            f"{file} holds {pixels.dtype} of the shape {tuple(pixels.shape)}",
            "Give uint8 (n, H, W, C).",
        )
    if len(pixels) != severities * count:
        whole, left = divmod(len(pixels), count)
        other = f", or say that each array holds {whole} severities: severities={whole}" if whole and not left else ""
        raise BrittleError(
            f"{file} has {len(pixels)} images: not {severities} severities of {count} images each",
            f"Give clean all images that the corruptions were made from, in the same order{other}.",
        )
    return np.moveaxis(pixels, -1, 1) if channels_last(pixels.shape, prefer_first=False) else pixels


def _labels(file: Path, count: int, severities: int) -> Tensor:
    """The labels (n,) that labels.npy gives: once, or the same for each severity."""
    labels = whole_numbers(opened(file), file.name)
    if len(labels) not in (count, count * severities):
        raise BrittleError(
            f"{file} has {len(labels)} labels for {severities} times {count} images", "Give one for each image."
        )
    for severity in range(1, len(labels) // count):
        other = torch.nonzero(labels[severity * count :][:count] != labels[:count])[:, 0]
        if len(other):
            raise BrittleError(
                f"{file} gives image {int(other[0])} another label at severity {severity + 1} than at 1",
                "Check how many images clean has, and how many severities each array holds: severities=….",
            )
    return labels[:count]


def _with_labels(clean: ImageSet, labels: Tensor) -> ImageSet:
    """The clean set, whose labels must be these (n,), in the same order; or gets them where it has none."""
    if bool((clean.labels == UNLABELLED).all()):
        return replace(clean, labels=labels)
    other = torch.nonzero(clean.labels != labels)[:, 0]
    if len(other):
        place = int(other[0])
        raise BrittleError(
            f"{clean.names[place]} of clean has the label {int(clean.labels[place])}, and {LABELS}.npy says "
            f"{int(labels[place])} there",
            "Give clean in the order in which the corruptions were made from it.",
        )
    return clean
