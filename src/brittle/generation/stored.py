"""A generated benchmark on disk, in CNS-Bench's layout, as a list of images that can be read and written out again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.contained_files import ContainedFiles
from brittle.errors import BrittleError
from brittle.files import real_path
from brittle.images.folder import FolderReader, channels_of, path_id
from brittle.images.limits import MEGAPIXELS
from brittle.images.pixels import stack
from brittle.images.scales.cns import CnsFile, cns_files, listed_only
from brittle.random import shuffled
from brittle.types import in_numbers

STREAM = "labelled-images"


@dataclass(frozen=True)
class StoredImages:
    """Images of a folder in CNS-Bench's layout. A path is one seed of one class under one shift, over its scales."""

    root: Path
    files: tuple[CnsFile, ...]

    def __len__(self) -> int:
        return len(self.files)

    @property
    def shifts(self) -> list[str]:
        return sorted({each.shift for each in self.files})

    @property
    def classes(self) -> dict[int, str]:
        """Index → name, rising."""
        return dict(sorted({each.label: each.name for each in self.files}.items()))

    @cached_property
    def path(self) -> NDArray[np.int64]:
        """(n,) the number of the path that each image is on."""
        return _numbered([(each.shift, each.key) for each in self.files])

    @cached_property
    def group(self) -> NDArray[np.int64]:
        """(n,) the number of its (class, seed): one picture at scale 0, whatever the shift."""
        return _numbered([each.key for each in self.files])

    @cached_property
    def origins(self) -> dict[str, CnsFile]:
        """Of every (class, seed), the image at scale 0."""
        found: dict[str, CnsFile] = {}
        for each in self.files:
            if each.scale == 0:
                found.setdefault(each.key, each)
        return found

    @cached_property
    def _reader(self) -> FolderReader:
        names = tuple(each.file for each in self.files)
        channels = channels_of(self.root, names[:: max(1, len(names) // 200)], "auto", MEGAPIXELS)
        return FolderReader(self.root, names, None, None, channels, MEGAPIXELS)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {each.file: place for place, each in enumerate(self.files)}

    def pixels(self, files: Sequence[CnsFile]) -> Tensor:
        """Images (B, C, H, W) in [0, 1], all of one size."""
        read = self._reader([self._place[each.file] for each in files])
        shapes = {each.shape for each in read}
        if len(shapes) > 1:
            raise BrittleError(f"images of {self.root} differ in size", "Generate all of them in one size.")
        return in_numbers(stack(read))

    def only(self, files: Iterable[str]) -> StoredImages:
        wanted = set(files)
        return StoredImages(self.root, tuple(each for each in self.files if each.file in wanted))


def stored_images(folder: str, annotations: str | None = None) -> StoredImages:
    """The images of a folder, or those of them that a file of annotations lists."""
    root = Path(real_path(folder))
    files, _ = cns_files(ContainedFiles(root))
    chosen = files if annotations is None else listed_only(files, Path(real_path(annotations)))
    return StoredImages(root, tuple(chosen))


def drawn(images: StoredImages, count: int, seed: int) -> StoredImages:
    """So many of the images, drawn by the seed and by what they are called, whatever others there are."""
    ids = torch.tensor([path_id(each.file) for each in images.files], dtype=torch.int64)
    chosen = shuffled(ids, seed, STREAM)[:count].tolist()
    return StoredImages(images.root, tuple(images.files[place] for place in sorted(chosen)))


def _numbered(keys: Sequence[object]) -> NDArray[np.int64]:
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
