"""A table of stored images: a row each with its path, class, shift, scale and seed."""

from __future__ import annotations

import math
from dataclasses import MISSING, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from brittle.class_names import class_names
from brittle.contained_files import ContainedFiles
from brittle.errors import BrittleError
from brittle.files import printable, real_path, size_of
from brittle.images import register
from brittle.images.base import MOST_CLASSES, ImageSet
from brittle.images.limits import reason
from brittle.images.scales.files import ResizedOptions
from brittle.images.scales.gather import StoredPicture, set_in_scales
from brittle.registry import did_you_mean, option

COLUMNS = ("path", "class", "shift", "scale", "seed")


@register("scales")
@dataclass(frozen=True)
class ScalesTable(ResizedOptions):
    """A CSV or Parquet file with the columns path (relative to it), class (a number or a name), shift (empty where the
    image at scale 0 is that of all shifts), scale and seed; ids are those of (class, seed)."""

    in_scales: ClassVar[bool] = True

    file: str = option(MISSING, "the .csv or .parquet file", positional=True)
    classes: str | tuple[str, ...] | None = option(None, "class names a/b/c, or a text file, where classes are numbers")

    def load(self) -> ImageSet:
        file = Path(real_path(self.file))
        columns = _columns(file)
        own = ContainedFiles(file.parent, outside=self.outside)
        for path in columns["path"]:
            own.path(path)
        label = _labels(columns["class"], self.file)
        _refuse_two_meanings(columns, self.file)
        damaged = self.damaged(file.parent, columns["path"])
        kept = [row for row, path in enumerate(columns["path"]) if path not in damaged]
        files = [columns["path"][row] for row in kept]
        pictures = [
            StoredPicture(
                label[columns["class"][row]],
                _key(columns, row),
                columns["seed"][row],
                columns["shift"][row] or "",
                columns["scale"][row],
                place,
            )
            for place, row in enumerate(kept)
        ]
        if not pictures:
            raise BrittleError(f"{self.file} has no rows that can be used", "Give one for each image.")
        named = () if all(isinstance(each, int) for each in label) else tuple(map(str, label))
        classes = class_names(self.classes) or named
        shown = list(map(printable, files))
        images = set_in_scales(printable(file.name), pictures, classes, self.reader(file.parent, files), shown, self)
        return replace(images, skipped=tuple(sorted(map(printable, damaged))))


def _columns(file: Path) -> dict[str, list[Any]]:
    """The columns of the table, checked."""
    size_of(file)
    try:
        table = pyarrow.parquet.read_table(file) if file.suffix == ".parquet" else pyarrow.csv.read_csv(file)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise BrittleError(f"{file} can't be read: {reason(error)}", "Give a CSV or a Parquet file.") from error
    lacking = next((name for name in COLUMNS if name not in table.column_names), None)
    if lacking is not None:
        raise BrittleError(f"{file} has no column {lacking!r}", did_you_mean(lacking, table.column_names))
    columns = {name: table[name].to_pylist() for name in COLUMNS}
    for row, (path, scale) in enumerate(zip(columns["path"], columns["scale"], strict=True)):
        number = isinstance(scale, (int, float)) and math.isfinite(scale) and scale >= 0
        lone = columns["shift"][row] or scale == 0
        if not isinstance(path, str) or not number or not lone or None in (columns["class"][row], columns["seed"][row]):
            raise BrittleError(
                f"{file}: row {row + 1} is not an image: path {path!r}, class {columns['class'][row]!r}, "
                f"shift {columns['shift'][row]!r}, scale {scale!r}, seed {columns['seed'][row]!r}",
                "Give a path, a class, a seed, a scale of at least 0, and a shift where that is above 0.",
            )
    columns["shift"] = [None if shift is None else str(shift) for shift in columns["shift"]]
    columns["scale"] = [float(scale) for scale in columns["scale"]]
    return columns


def _key(columns: dict[str, list[Any]], row: int) -> str:
    return f"{columns['class'][row]}/{columns['seed'][row]}"


def _refuse_two_meanings(columns: dict[str, list[Any]], file: str) -> None:
    """A file is of one class, and a key means one class and seed."""
    classes: dict[str, Any] = {}
    keys: dict[str, tuple[Any, Any]] = {}
    for row, path in enumerate(columns["path"]):
        own = columns["class"][row], columns["seed"][row]
        if classes.setdefault(path, own[0]) != own[0]:
            raise BrittleError(
                f"{file}: {path} is of class {classes[path]!r} and of class {own[0]!r}", "Give every image one class."
            )
        key = _key(columns, row)
        if keys.setdefault(key, own) != own:
            first, second = sorted((keys[key], own), key=str)
            raise BrittleError(
                f"{file}: class {first[0]!r}, seed {first[1]!r} and class {second[0]!r}, seed {second[1]!r} are both "
                f"called {key}",
                "Leave slashes out of one of them.",
            )


def _labels(classes: list[Any], file: str) -> dict[Any, int]:
    """Class → label: numbers are labels, names are counted in alphabetical order."""
    there = set(classes)
    if all(isinstance(each, int) and not isinstance(each, bool) and 0 <= each < MOST_CLASSES for each in there):
        return {each: each for each in sorted(there)}
    if all(isinstance(each, str) for each in there):
        return {each: label for label, each in enumerate(sorted(there))}
    raise BrittleError(f"{file}: classes are neither numbers from 0 nor names", "Give one or the other in all rows.")
