"""Generated images as a folder in CNS-Bench's layout, which `cns:FOLDER` reads: one file per image, annotations that
list every image with its parameters, and a datasheet.

A file is there whole or not at all, and one that is as it should be is left alone: what was killed goes on where it
stopped.
Annotations come last, and list what earlier calls have written into the folder, too.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import pyarrow as pa

from brittle.diffusion.collection import plain_name, slider_file
from brittle.errors import BrittleError
from brittle.files import half_of, remove_half_written, unusable, write_durably
from brittle.images.scales.cns import ANNOTATIONS, THOUSANDTHS, CnsFile, write_annotations
from brittle.measures.generate.datasheet import datasheet

DATASHEET = "datasheet.md"
OWN = ("image", "seed", "scale", "shift", "class")  # what annotations say of every image by themselves
LIBRARIES = ("torch", "diffusers", "transformers", "peft", "pillow")


@dataclass(frozen=True)
class BenchmarkSettings:
    """What is said of images besides what their paths say."""

    format: str
    prompts: Mapping[int, str]  # by label
    about: Mapping[str, Any]  # all other settings


def write_benchmark(
    folder: Path, rows: pa.Table, pictures: Iterable[pa.Table], settings: BenchmarkSettings
) -> list[CnsFile]:
    """Writes what is not there yet. `pictures` are those of the `rows`, in their order. The image of a class and seed
    at scale 0 is written into every shift's folder, or without shifts into one called `none`."""
    entries = rows.to_pylist()
    shifts = list(dict.fromkeys(each["shift"] for each in entries if each["shift"])) or ["none"]
    _remove_halves(folder)
    written: list[CnsFile] = []
    for row, picture in zip(entries, _each(pictures), strict=True):
        for shift in [row["shift"]] if row["shift"] else shifts:
            file = cns_file(row, shift, settings.format)
            _write(folder / file.file, picture)
            written.append(file)
    _describe(folder, written, settings)
    return written


def cns_file(row: Mapping[str, Any], shift: str, format: str) -> CnsFile:
    """Where an image lies: shift/003_class_name/seed_0034_scale_1000.jpg."""
    of_class, scale = f"{row['label']:03d}_{plain_name(row['class'])}", round(row["scale"] * THOUSANDTHS)
    file = f"{plain_name(shift)}/{of_class}/seed_{row['seed']:04d}_scale_{scale:04d}.{format}"
    name = plain_name(row["class"])
    return CnsFile(file, plain_name(shift), of_class, row["label"], name, row["seed"], scale / THOUSANDTHS)


def _each(tables: Iterable[pa.Table]) -> Iterator[bytes]:
    for table in tables:
        yield from table["picture"].to_pylist()


def _write(path: Path, content: bytes) -> None:
    """Flushing each of many thousand small files would take longer than writing them; the run keeps them all. So a file
    that is there is compared: after a power cut it may have its size and hold zeros."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        if path.is_file() and path.read_bytes() == content:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):  # the first thing that went wrong is the one to tell
            temporary.unlink(missing_ok=True)
        raise unusable(path, "written", error) from error


def _remove_halves(folder: Path) -> None:
    remove_half_written(folder, (ANNOTATIONS, DATASHEET))
    for each in folder.glob("*/*/*.tmp"):
        if half_of(each.name) is not None:
            each.unlink(missing_ok=True)


def _describe(folder: Path, written: list[CnsFile], settings: BenchmarkSettings) -> None:
    """Annotations and datasheet, of what was written now and before."""
    info, before = _earlier(folder / ANNOTATIONS, {each.file for each in written})
    more = {file: {key: value for key, value in each.items() if key not in OWN} for file, each in before.items()}
    files = [*(_listed(each) for each in before.values()), *written]
    for each in written:
        more[each.file] = {"class_name": each.name, "prompt": settings.prompts[each.label]}
        if each.scale:
            sliders = [slider_file(Path(), each.name, part).name for part in each.shift.split("+")]
            more[each.file]["sliders"] = sliders
    versions = {name: metadata.version(name) for name in LIBRARIES if _installed(name)}
    sets = [each for each in info.get("settings", []) if each != settings.about] + [dict(settings.about)]
    info = {"made by": "brittle generate", "versions": versions, "settings": sets}
    files.sort(key=lambda each: each.file)
    write_annotations(folder / ANNOTATIONS, files, info, more)
    text = datasheet(files, sets)
    write_durably(folder / DATASHEET, lambda to: to.write_text(text, encoding="utf-8"))


def _earlier(path: Path, now: set[str]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """What annotations say already, of files that are still there and are not written now."""
    if not path.is_file():
        return {}, {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        info, images = found["info"], {each["image"]: each for each in found["images"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BrittleError(f"{path} can't be read", "Remove it, or generate into another folder.") from error
    return info, {file: each for file, each in images.items() if file not in now and (path.parent / file).is_file()}


def _listed(entry: Mapping[str, Any]) -> CnsFile:
    folder = entry["image"].split("/")[1]
    return CnsFile(
        entry["image"], entry["shift"], folder, entry["class"], folder.partition("_")[2], entry["seed"], entry["scale"]
    )


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
