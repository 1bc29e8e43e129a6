"""CNS-Bench's published layout (Dünkel et al. 2025): SHIFT/INDEX_CLASS/seed_0034_scale_1000.jpg, scale in thousandths.

The index is the class's place among ImageNet's 1,000. `annotations_cns.json`, where it is there, lists every image
again and is compared with the folders. Another file of that form, such as `brittle filter` writes, chooses among them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, replace
from pathlib import Path
from typing import ClassVar, NamedTuple

from brittle.contained_files import ContainedFiles
from brittle.errors import BrittleError
from brittle.files import printable, real_path, size_of, write_durably
from brittle.images import register
from brittle.images.base import ImageSet
from brittle.images.folder import image_files
from brittle.images.limits import reason
from brittle.images.scales.files import ResizedOptions, some
from brittle.images.scales.gather import StoredPicture, chosen_shifts, set_in_scales
from brittle.registry import option

ANNOTATIONS = "annotations_cns.json"
THOUSANDTHS = 1000
_FILE = re.compile(r"seed_(\d+)_scale_(\d+)\.\w+")
_CLASS = re.compile(r"(\d+)_(.+)")
HIGHEST = 100_000  # class index


@register("cns")
@dataclass(frozen=True)
class Cns(ResizedOptions):
    """CNS-Bench's folders: the images at scale 0, and every shift in a nuisance's place; ids are those of (class,
    seed)."""

    in_scales: ClassVar[bool] = True

    path: str = option(MISSING, "the folder that holds the shifts' folders", positional=True)
    annotations: str | None = option(
        None,
        f"only images that this file lists, in the form of {ANNOTATIONS}, such as those `brittle filter` keeps",
    )

    def load(self) -> ImageSet:
        root = Path(real_path(self.path))
        own = ContainedFiles(root, outside=self.outside)
        found, odd = cns_files(own)
        right, wrong = _without_wrong_classes(found, annotated(own.path(ANNOTATIONS)))
        if self.annotations is not None:
            right = listed_only(right, Path(real_path(self.annotations)))
        title = printable(root.resolve().name or str(root))
        shifts = set(chosen_shifts(title, {each.shift for each in right}, self.shifts))
        wanted = [each for each in right if each.shift in shifts or each.scale == 0]  # at 0 all shifts are the same
        damaged = self.damaged(root, [each.file for each in wanted])
        entries = [each for each in wanted if each.file not in damaged]
        if not entries:
            raise BrittleError(f"no image of {self.path} can be used", "Check its folders' names and its files.")
        files = [each.file for each in entries]
        pictures = [
            StoredPicture(each.label, each.key, each.seed, each.shift, each.scale, place)
            for place, each in enumerate(entries)
        ]
        names = {each.label: each.name for each in entries}
        classes = tuple(names.get(label, str(label)) for label in range(max(names) + 1))
        images = set_in_scales(title, pictures, classes, self.reader(root, files), list(map(printable, files)), self)
        return replace(images, skipped=tuple(sorted(map(printable, damaged))), notes=(*odd, *wrong, *images.notes))


class CnsFile(NamedTuple):
    """What a file's path says."""

    file: str
    shift: str
    folder: str  # of the class
    label: int  # the index
    name: str
    seed: int
    scale: float

    @property
    def key(self) -> str:
        """Of (class, seed), the same however its numbers are padded."""
        return f"{self.label:03d}_{self.name}/seed_{self.seed:04d}"


def cns_files(own: ContainedFiles) -> tuple[list[CnsFile], list[str]]:
    """All images below a folder by what their paths say, and a sentence about those that say nothing."""
    if not own.folder.is_dir():
        raise BrittleError(f"there is no folder {own.folder}", "Name the folder that holds the shifts' folders.")
    found, odd = _entries(sorted(file for file in image_files(own) if file.count("/") == 2))
    if not found:
        raise BrittleError(
            f"{own.folder} has no images in CNS-Bench's layout",
            "They are called SHIFT/INDEX_CLASS/seed_0034_scale_1000.jpg.",
        )
    return found, odd


def listed_only(entries: Sequence[CnsFile], path: Path) -> list[CnsFile]:
    """The entries that a file of annotations lists; it may list no others."""
    size_of(path)
    listed = annotated(path)
    there = {each.file for each in entries}
    missing = sorted(set(listed) - there)
    if missing:
        raise BrittleError(
            f"{path} lists {len(missing)} images that are not there: {some(missing)}",
            "Name the folder that it was made for.",
        )
    return [each for each in entries if each.file in listed]


def _entries(files: Sequence[str]) -> tuple[list[CnsFile], list[str]]:
    """What the paths say, and a sentence about those that say nothing."""
    found, odd = [], []
    for file in files:
        shift, folder, name = file.split("/")
        of_class, of_file = _CLASS.fullmatch(folder), _FILE.fullmatch(name)
        if of_class is None or of_file is None or int(of_class[1]) > HIGHEST:
            odd.append(file)
            continue
        label, seed, scale = int(of_class[1]), int(of_file[1]), int(of_file[2]) / THOUSANDTHS
        found.append(CnsFile(file, printable(shift), printable(folder), label, printable(of_class[2]), seed, scale))
    notes = []
    if odd:
        notes.append(
            f"{len(odd)} image files are left out, since their paths are not SHIFT/INDEX_CLASS/seed_…_scale_…: "
            f"{some(odd)}"
        )
    return found, notes


def annotated(path: Path) -> dict[str, int]:
    """File → class index, from the annotations; empty where there are none."""
    if not path.is_file():
        return {}
    try:
        images = json.loads(path.read_text(encoding="utf-8"))["images"]
        pairs = [(str(each["image"]), int(each["class"])) for each in images]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise BrittleError(
            f"{path} can't be read: {reason(error)}", "Restore it, or remove it: the folders say the same."
        ) from error
    found: dict[str, int] = {}
    for image, label in pairs:
        if found.setdefault(image, label) != label:
            raise BrittleError(f"{path} lists {image} as {found[image]} and as {label}", "Correct it, or remove it.")
    return found


def write_annotations(
    path: Path, files: Sequence[CnsFile], info: Mapping[str, object], more: Mapping[str, Mapping[str, object]] = {}
) -> None:
    """A file of annotations in CNS-Bench's form; `more` is what is said of images besides, by file."""
    told = {
        "info": info,
        "scales": sorted({each.scale for each in files}),
        "classes": sorted({each.label for each in files}),
        "shifts": sorted({each.shift for each in files}),
        "images": [
            {"image": each.file, "seed": each.seed, "scale": each.scale, "shift": each.shift, "class": each.label}
            | dict(more.get(each.file, {}))
            for each in files
        ],
    }
    write_durably(path, lambda to: to.write_text(json.dumps(told, indent=1), encoding="utf-8"))


def _without_wrong_classes(entries: list[CnsFile], annotated: dict[str, int]) -> tuple[list[CnsFile], list[str]]:
    """Leaves out class folders whose index is not the one that the annotations give or, where these say nothing, that
    other folders contradict; and names them."""
    folders = {_folder(each): (each.label, each.name) for each in entries}
    settled = {_folder(each) for each in entries if each.file in annotated}
    wrong: dict[str, str] = {}
    for each in entries:
        said = annotated.get(each.file, each.label)
        if said != each.label:
            wrong[_folder(each)] = f"{ANNOTATIONS} says {said}"
    rivals = _contradicted(Counter(folders.values()))
    for folder, pair in folders.items():
        if folder not in settled and pair in rivals:
            index, name = rivals[pair]
            wrong[folder] = f"elsewhere {index} is {name!r}"
    notes = [f"the class folder {there} has a wrong index and is left out: {wrong[there]}" for there in sorted(wrong)]
    missing = sorted(set(annotated) - {each.file for each in entries})
    if missing:
        notes.append(f"{len(missing)} images that {ANNOTATIONS} lists are not there: {some(missing)}")
    return [each for each in entries if _folder(each) not in wrong], notes


def _folder(entry: CnsFile) -> str:
    return f"{entry.shift}/{entry.folder}"


def _contradicted(counts: Counter[tuple[int, str]]) -> dict[tuple[int, str], tuple[int, str]]:
    """Pairs of an index and a class that can't stand beside a more frequent one, or beside one as frequent, and which.
    The most frequent are settled first, so that a wrong folder does not take a right one with it."""
    by_index, by_name = dict[int, tuple[int, str]](), dict[str, tuple[int, str]]()
    wrong: dict[tuple[int, str], tuple[int, str]] = {}
    for count in sorted(set(counts.values()), reverse=True):
        level = []
        for pair in sorted(pair for pair in counts if counts[pair] == count):
            rival = by_index.get(pair[0]) or by_name.get(pair[1])
            if rival is not None:
                wrong[pair] = rival
            else:
                level.append(pair)
        indices, names = Counter(index for index, _ in level), Counter(name for _, name in level)
        for pair in level:
            if indices[pair[0]] > 1 or names[pair[1]] > 1:
                same = (other for other in level if other != pair and (other[0] == pair[0] or other[1] == pair[1]))
                wrong[pair] = next(same)
            else:
                by_index[pair[0]] = by_name[pair[1]] = pair
    return wrong
