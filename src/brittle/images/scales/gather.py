"""From pictures that each have a class, a seed, a shift and a scale to an image set that brings its shifts.

(class, seed) is one picture at scale 0, whatever the shift, and a path for each shift. A path is followed only where
all of its scales exist; what is left out is named. Where no picture is at scale 0, paths begin at the first scale, and
each image at its lowest scale stands in for the one at 0: it has the shape, and nothing is measured on it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch

from brittle.contained_files import OUTSIDE
from brittle.errors import BrittleError
from brittle.images.base import ImageSet, Reader, SubsetReader, alternatives
from brittle.images.folder import path_id
from brittle.images.pixels import to_float
from brittle.images.scales.shift import StoredShift
from brittle.registry import option

NAMED = 3  # of what is left out, in a sentence
COMPARED = 32  # pairs of pictures at scale 0 that should be the same
SAME = 0.05  # mean difference of pixels in [0, 1]: more than JPEG makes of one picture, less than two pictures have

Scales = Mapping[float, int]  # scale → the reader's position
Stored = Mapping[str, Mapping[str, Scales]]  # shift → key of (class, seed) → scales


@dataclass(frozen=True, kw_only=True)
class ShiftChoice:
    """Which shifts of an image set in scales, what they are called, and where their files may lie."""

    shifts: str | tuple[str, ...] | None = option(None, "only these shifts, a/b/c")
    prefix: str = option("", "what the shifts' names begin with, to tell them from other nuisances of a study")
    outside: Literal["refuse", "allow"] = option("refuse", OUTSIDE)


@dataclass(frozen=True, kw_only=True)
class ShiftOptions(ShiftChoice):
    """Which shifts, and which of their paths."""

    paths: Literal["each", "all"] = option(
        "each", "each: a path is followed where its own scales exist; all: only images that every shift has are kept"
    )


class StoredPicture(NamedTuple):
    """One stored image. At scale 0 it need not have a shift: it is that of all of them."""

    label: int
    key: str  # of (class, seed): what its id is made from
    seed: int | str
    shift: str
    scale: float
    position: int  # for the reader


class FollowedPaths(NamedTuple):
    """What is left of some paths once those that lack scales are taken out."""

    keys: list[str]  # of the images, in order
    complete: Mapping[str, Collection[str]]  # shift → keys of its paths that are followed
    notes: list[str]
    origin: bool  # whether they begin at scale 0


def set_in_scales(
    name: str,
    pictures: Sequence[StoredPicture],
    classes: tuple[str, ...],
    reader: Reader,
    files: Sequence[str],
    options: ShiftOptions,
) -> ImageSet:
    """The pictures at scale 0, with the shifts that lead away from them."""
    clean, stored = _by_shift_and_key(name, pictures, files, options.shifts)
    _refuse_other_origins(name, pictures, reader, files)
    found = followed_paths(name, stored, clean or None, options.paths)
    ids = {key: path_id(key) for key in found.keys}
    own = {each.position: each for each in pictures}
    chosen = [clean[key] for key in found.keys] if clean else [own[place] for place in stand_ins(found, stored)]
    return ImageSet(
        name,
        torch.tensor([ids[key] for key in found.keys], dtype=torch.int64),
        torch.tensor([each.label for each in chosen], dtype=torch.int64),
        classes,
        found.keys,
        {"seed": [each.seed for each in chosen]},
        SubsetReader.of(reader, np.array([each.position for each in chosen], dtype=np.int64)),
        shifts=shifts_of(found, stored, ids, reader, files, options.prefix),
        notes=(*([] if clean else [without_origin(name, "add such images to get them")]), *found.notes),
        origin=bool(clean),
    )


def without_origin(name: str, remedy: str) -> str:
    """What can't be said of a set that has no images at scale 0."""
    return (
        f"{name!r} has no images at scale 0, so drops, rCE, rankings by drop and the number of images that are wrong "
        f"at 0 are left out; {remedy}"
    )


def stand_ins(found: FollowedPaths, stored: Stored) -> list[int]:
    """For each image, the reader's position of the lowest scale in the first shift that follows it."""
    chosen: dict[str, int] = {}
    for shift, keys in found.complete.items():
        for key in keys:
            scales = stored[shift][key]
            chosen.setdefault(key, scales[min(scales)])
    return [chosen[key] for key in found.keys]


def followed_paths(
    name: str, stored: Stored, clean: Collection[str] | None, paths: Literal["each", "all"]
) -> FollowedPaths:
    """Which paths are followed, where `clean` are the keys of the pictures at scale 0, or None if there are none."""
    complete = {shift: _complete(each, clean) for shift, each in stored.items()}
    notes = [note for shift in stored for note in _reasons_left_out(shift, stored[shift], clean, complete[shift])]
    sets = [set(keys) for keys in complete.values() if keys]
    keys = sorted((set.union(*sets) if paths == "each" else set.intersection(*sets)) if sets else ())
    if not keys:
        raise BrittleError(
            f"no image of {name!r} has all of its scales" + (" in every shift" if paths == "all" else ""),
            f"{notes[0][:1].upper()}{notes[0][1:]}." if notes else "Give images at scale 0 and above.",
        )
    some = set.union(*sets)
    if paths == "all" and len(keys) < len(some):
        notes.append(f"{len(some) - len(keys)} images of {name!r} are left out, since some shift lacks scales of them")
    return FollowedPaths(keys, complete, notes, clean is not None)


def shifts_of(
    found: FollowedPaths, stored: Stored, ids: Mapping[str, int], reader: Reader, files: Sequence[str], prefix: str
) -> dict[str, StoredShift]:
    """By name, the shifts that follow any of the images whose ids are given by key."""
    made = {}
    for shift, keys in found.complete.items():
        there = [key for key in keys if key in ids]
        if there:
            scales, numbers = scales_of(stored[shift]), np.array([ids[key] for key in there], dtype=np.int64)
            order = np.argsort(numbers)
            positions = np.array([[stored[shift][key][scale] for scale in scales] for key in there], dtype=np.int64)
            made[prefix + shift] = StoredShift(
                prefix + shift, scales, numbers[order], positions[order], reader, files, origin=found.origin
            )
    return made


def chosen_shifts(name: str, there: Collection[str], wanted: str | tuple[str, ...] | None) -> list[str]:
    """Those of the shifts that an option names, all by default."""
    if wanted is None:
        return sorted(there)
    text = wanted if isinstance(wanted, str) else "/".join(wanted)
    return sorted(alternatives(text, set(there), f"{name}: the shift"))


def scales_of(paths: Mapping[str, Scales]) -> tuple[float, ...]:
    """The scales above 0 that any path of a shift has, rising."""
    return tuple(sorted({scale for there in paths.values() for scale in there if scale > 0}))


def _by_shift_and_key(
    name: str, pictures: Sequence[StoredPicture], files: Sequence[str], wanted: str | tuple[str, ...] | None
) -> tuple[dict[str, StoredPicture], dict[str, dict[str, dict[float, int]]]]:
    """Pictures at scale 0 by key, and all by shift, key and scale; two of one place are an error."""
    shifts = chosen_shifts(name, {each.shift for each in pictures if each.shift}, wanted)
    stored: dict[str, dict[str, dict[float, int]]] = {shift: {} for shift in ("", *shifts)}
    clean: dict[str, StoredPicture] = {}
    elsewhere: dict[str, StoredPicture] = {}  # at scale 0 of shifts that are not wanted: the same pictures
    for each in sorted(pictures, key=lambda one: (one.key, one.shift, one.scale, one.position)):
        if each.shift not in stored:
            if each.scale == 0:
                elsewhere.setdefault(each.key, each)
            continue
        scales = stored[each.shift].setdefault(each.key, {})
        if each.scale in scales:
            raise BrittleError(
                f"{name}: {files[scales[each.scale]]} and {files[each.position]} are both {each.key}"
                + (f" of the shift {each.shift!r}" if each.shift else "")
                + f" at scale {each.scale:g}",
                "Remove one of them.",
            )
        scales[each.scale] = each.position
        if each.scale == 0:
            clean.setdefault(each.key, each)
    del stored[""]
    return elsewhere | clean, stored


def _refuse_other_origins(name: str, pictures: Sequence[StoredPicture], reader: Reader, files: Sequence[str]) -> None:
    """Pictures of one key at scale 0 must be the same in every shift; some pairs, spread evenly, are looked at."""
    first: dict[str, StoredPicture] = {}
    pairs = []
    for each in sorted((one for one in pictures if one.scale == 0), key=lambda one: (one.key, one.shift)):
        other = first.setdefault(each.key, each)
        if files[other.position] != files[each.position]:
            pairs.append((other, each))
    for one, other in pairs[:: max(1, -(-len(pairs) // COMPARED))]:
        left, right = (to_float(np.asarray(image)) for image in reader([one.position, other.position]))
        if left.shape != right.shape or float(np.abs(left - right).mean()) > SAME:
            raise BrittleError(
                f"{name}: {files[one.position]} and {files[other.position]} are both {one.key} at scale 0 and differ",
                "Give one picture at scale 0, the same for all shifts.",
            )


def _complete(paths: Mapping[str, Scales], clean: Collection[str] | None) -> list[str]:
    """The keys whose paths have all scales of the shift, and 0 where there is one."""
    scales = scales_of(paths)
    there = [key for key in paths if clean is None or key in clean]
    return [key for key in there if all(scale in paths[key] for scale in scales)] if scales else []


def _reasons_left_out(
    shift: str, paths: Mapping[str, Scales], clean: Collection[str] | None, complete: Collection[str]
) -> Iterator[str]:
    """A sentence about the paths of a shift that are not followed."""
    scales, kept = scales_of(paths), set(complete)
    if not scales:
        yield f"the shift {shift!r} has no images above scale 0 and is left out"
        return
    lacking = {}
    for key in paths:
        if key not in kept:
            missing = [] if clean is None or key in clean else ["0"]
            lacking[key] = missing + [f"{scale:g}" for scale in scales if scale not in paths[key]]
    if lacking:
        some = [f"{key} (scale {', '.join(missing)})" for key, missing in list(lacking.items())[:NAMED]]
        more = f" and {len(lacking) - NAMED} more" if len(lacking) > NAMED else ""
        yield (
            f"{len(lacking)} of {len(paths)} paths of the shift {shift!r} are not followed, since images are missing: "
            f"{'; '.join(some)}{more}"
        )
