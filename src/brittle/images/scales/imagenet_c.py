"""ImageNet-C's layout (Hendrycks & Dietterich 2019): CORRUPTION/SEVERITY/CLASS/FILE, with severities 1 to 5.

It has no images at scale 0: these are another image set, matched by class and file name. Its images are cut to 224×224
already and are read as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from brittle.errors import BrittleError
from brittle.files import printable, real_path
from brittle.images import register
from brittle.images.base import ImageSet
from brittle.images.folder import FolderReader, entries, image_files, is_folder
from brittle.images.scales.files import FileOptions
from brittle.images.scales.gather import chosen_shifts, followed, shifts_of
from brittle.images.source import open_source
from brittle.registry import option

CLEAN_HELP = "the same images without a shift: another image set's spec (commas as \\,)"


@register("imagenet-c")
@dataclass(frozen=True)
class ImageNetC(FileOptions):
    """ImageNet-C's folders: the images of `clean`, and every corruption in a nuisance's place, its severities as
    scales."""

    in_scales: ClassVar[bool] = True

    path: str = option(MISSING, "the folder that holds the corruptions' folders", positional=True)
    clean: Any = option(None, f"{CLEAN_HELP}, matched by class and file name", image_set=True)

    def load(self) -> ImageSet:
        root = Path(real_path(self.path))
        if not root.is_dir():
            raise BrittleError(
                f"there is no folder {self.path}", "Name the folder that holds the corruptions' folders."
            )
        clean = opened_clean(self.clean, self.path, "clean=folder:val\\,size=256\\,crop=224")
        there = [entry.name for entry in entries(root) if is_folder(entry)]
        title = printable(root.resolve().name or str(root))
        files: list[str] = []
        stored: dict[str, dict[str, dict[float, int]]] = {}
        for shift in chosen_shifts(title, there, self.shifts):
            stored[printable(shift)] = {}
            for file in sorted(image_files(root / shift)):
                severity, _, key = file.partition("/")
                if severity.isdecimal() and int(severity) > 0 and key.count("/") == 1:
                    stored[printable(shift)].setdefault(printable(key), {})[float(severity)] = len(files)
                    files.append(f"{shift}/{file}")
        if not files:
            raise BrittleError(
                f"{self.path} has no images in ImageNet-C's layout", "They are called CORRUPTION/SEVERITY/CLASS/FILE."
            )
        damaged = self.damaged(root, files)
        if damaged:
            stored = {
                shift: {
                    key: {scale: place for scale, place in scales.items() if files[place] not in damaged}
                    for key, scales in paths.items()
                }
                for shift, paths in stored.items()
            }
        places = _by_class_and_name(clean)
        _refuse_strangers(title, stored, places, clean)
        found = followed(title, stored, places, self.paths)
        images = clean.take([places[key] for key in found.keys])
        ids = dict(zip(found.keys, images.ids.tolist(), strict=True))
        reader = FolderReader(root, tuple(files), None, None, "grey" if clean.shape[0] == 1 else "rgb", self.megapixels)
        shifts = shifts_of(found, stored, ids, reader, list(map(printable, files)), self.prefix)
        return replace(
            images,
            name=title,
            shifts={
                name: replace(shift, benchmark=f"imagenet-c:{name.removeprefix(self.prefix)}")
                for name, shift in shifts.items()
            },
            skipped=(*clean.skipped, *sorted(map(printable, damaged))),
            notes=(*clean.notes, *found.notes),
        )


def opened_clean(what: Any, path: str, example: str) -> ImageSet:
    """The image set at scale 0, without which nothing can be said of a drop."""
    if what is None:
        raise BrittleError(
            f"{path} has no images at scale 0, and without them there is no drop, no relative error and no path",
            f"Name them: {example}. One severity alone is an image set like any other, folder:….",
        )
    return open_source(what, {})


def _by_class_and_name(clean: ImageSet) -> dict[str, int]:
    """CLASS/FILE → place."""
    of_class: Sequence[str] = clean.columns.get("class", clean.columns.get("folder", [""] * len(clean)))
    return {f"{of_class[place]}/{name.rpartition('/')[2]}": place for place, name in enumerate(clean.names)}


def _refuse_strangers(title: str, stored: dict[str, Any], places: dict[str, int], clean: ImageSet) -> None:
    """Two sets without a single image in common were not meant for one another."""
    keys = next(iter(stored.values()))
    if not any(key in places for paths in stored.values() for key in paths):
        raise BrittleError(
            f"no image of {title!r} is one of {clean.name!r} by class and file name "
            f"({next(iter(keys), '')} is not among {next(iter(places))}, …)",
            "Name the images that the corruptions were made from, one folder per class, called as they are here.",
        )
