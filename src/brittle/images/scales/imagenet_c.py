"""ImageNet-C's layout (Hendrycks & Dietterich 2019): CORRUPTION/SEVERITY/CLASS/FILE, with severities 1 to 5.

It has no images at scale 0: these are another image set, matched by class and file name, or paths begin at severity 1.
Its images are cut to 224×224 already and are read as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from brittle.contained_files import ContainedFiles
from brittle.errors import BrittleError
from brittle.files import printable, real_path
from brittle.images import register
from brittle.images.base import ImageSet, SubsetReader
from brittle.images.folder import FolderReader, channels_of, entries, image_files, is_folder, path_id
from brittle.images.scales.clean import HELP, opened_clean, unnamed
from brittle.images.scales.files import FileOptions
from brittle.images.scales.gather import FollowedPaths, chosen_shifts, followed_paths, shifts_of, stand_ins
from brittle.registry import option

Stored = dict[str, dict[str, dict[float, int]]]  # corruption → CLASS/FILE → severity → place of the file


@register("imagenet-c")
@dataclass(frozen=True)
class ImageNetC(FileOptions):
    """ImageNet-C's folders: the images of `clean`, where it is given, and every corruption in a nuisance's place, its
    severities as scales."""

    in_scales: ClassVar[bool] = True

    path: str = option(MISSING, "the folder that holds the corruptions' folders", positional=True)
    clean: Any = option(
        None, f"{HELP}, matched by class and file name; without it there is no drop and no rCE", image_set=True
    )

    def load(self) -> ImageSet:
        root = Path(real_path(self.path))
        if not root.is_dir():
            raise BrittleError(
                f"there is no folder {self.path}", "Name the folder that holds the corruptions' folders."
            )
        clean = opened_clean(self.clean, self.path)
        title = printable(root.resolve().name or str(root))
        own = ContainedFiles(root, outside=self.outside)
        files, stored = self._stored(own, title)
        damaged = self.damaged(root, files)
        if damaged:
            stored = _without(stored, {place for place, file in enumerate(files) if file in damaged})
        if clean is None:
            channels = channels_of(root, [file for file in files if file not in damaged], "auto", self.megapixels)
        else:
            channels = "grey" if clean.shape[0] == 1 else "rgb"
        reader = FolderReader(root, tuple(files), None, None, channels, self.megapixels)
        if clean is None:
            found = followed_paths(title, stored, None, self.paths)
            images = _standing_in(found, stored, _class_folders(own), reader, title)
        else:
            places = _by_class_and_name(clean, {key for paths in stored.values() for key in paths})
            _refuse_strangers(title, stored, places, clean)
            found = followed_paths(title, stored, places, self.paths)
            images = clean.take([places[key] for key in found.keys])
        ids = dict(zip(found.keys, images.ids.tolist(), strict=True))
        shifts = shifts_of(found, stored, ids, reader, list(map(printable, files)), self.prefix)
        return replace(
            images,
            name=title,
            shifts={
                name: replace(shift, benchmark=f"imagenet-c:{name.removeprefix(self.prefix)}")
                for name, shift in shifts.items()
            },
            skipped=(*images.skipped, *sorted(map(printable, damaged))),
            notes=(*images.notes, *found.notes),
        )

    def _stored(self, own: ContainedFiles, title: str) -> tuple[list[str], Stored]:
        """The files of the chosen corruptions, and what each of them holds."""
        files: list[str] = []
        stored: Stored = {}
        for shift in chosen_shifts(title, _folders(own), self.shifts):
            stored[printable(shift)] = {}
            for file in sorted(image_files(own, f"{shift}/")):
                severity, _, key = file.removeprefix(f"{shift}/").partition("/")
                if _is_severity(severity) and key.count("/") == 1:
                    scales = stored[printable(shift)].setdefault(printable(key), {})
                    if (scale := float(severity)) in scales:
                        raise BrittleError(
                            f"{printable(files[scales[scale]])} and {printable(file)} are both "
                            f"{printable(key)} of the shift {printable(shift)!r} at severity {scale:g}",
                            "Remove one of the folders.",
                        )
                    scales[scale] = len(files)
                    files.append(file)
        if not files:
            raise BrittleError(
                f"{self.path} has no images in ImageNet-C's layout", "They are called CORRUPTION/SEVERITY/CLASS/FILE."
            )
        return files, stored


def _folders(own: ContainedFiles, below: str = "") -> list[str]:
    """The names of the folders in one of the set's own."""
    return [entry.name for entry in entries(own.path(below)) if is_folder(entry)]


def _is_severity(name: str) -> bool:
    return name.isdecimal() and int(name) > 0


def _class_folders(own: ContainedFiles) -> list[str]:
    """Of all corruptions, chosen or not, so that labels do not depend on the choice."""
    severities = [f"{shift}/{name}" for shift in _folders(own) for name in _folders(own, shift) if _is_severity(name)]
    return sorted({printable(name) for severity in severities for name in _folders(own, severity)})


def _without(stored: Stored, damaged: set[int]) -> Stored:
    return {
        shift: {
            key: {scale: place for scale, place in scales.items() if place not in damaged}
            for key, scales in paths.items()
        }
        for shift, paths in stored.items()
    }


def _standing_in(
    found: FollowedPaths, stored: Stored, classes: Sequence[str], reader: FolderReader, title: str
) -> ImageSet:
    """The images that paths lead through, for want of those at scale 0; ids are what a folder of these would have."""
    number = {name: label for label, name in enumerate(classes)}
    folders = [key.partition("/")[0] for key in found.keys]
    return ImageSet(
        title,
        torch.tensor([path_id(key) for key in found.keys], dtype=torch.int64),
        torch.tensor([number[folder] for folder in folders], dtype=torch.int64),
        tuple(classes),
        found.keys,
        {"folder": folders},
        SubsetReader.of(reader, np.array(stand_ins(found, stored), dtype=np.int64)),
        notes=(unnamed(title, "folder:val\\,size=256\\,crop=224"),),
        origin=False,
    )


def _by_class_and_name(clean: ImageSet, wanted: set[str]) -> dict[str, int]:
    """CLASS/FILE → place. Of those that are wanted, each must be one image."""
    of_class: Sequence[str] = clean.columns.get("class", clean.columns.get("folder", [""] * len(clean)))
    places: dict[str, int] = {}
    for place, name in enumerate(clean.names):
        key = f"{of_class[place]}/{name.rpartition('/')[2]}"
        if key in wanted and key in places:
            raise BrittleError(
                f"{clean.names[places[key]]} and {name} of {clean.name!r} are both {key}, by class and file name",
                "Name the images that the corruptions were made from, each once.",
            )
        places[key] = place
    return places


def _refuse_strangers(title: str, stored: dict[str, Any], places: dict[str, int], clean: ImageSet) -> None:
    """Two sets without a single image in common were not meant for one another."""
    keys = next(iter(stored.values()))
    if not any(key in places for paths in stored.values() for key in paths):
        raise BrittleError(
            f"no image of {title!r} is one of {clean.name!r} by class and file name "
            f"({next(iter(keys), '')} is not among {next(iter(places))}, …)",
            "Name the images that the corruptions were made from, one folder per class, called as they are here.",
        )
