"""From pictures that each have a class, a seed, a shift and a scale to an image set that brings its shifts.

(class, seed) is one picture at scale 0, whatever the shift, and a path for each shift. A path is followed only where
all of its scales exist; what is left out is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
import torch

from brittle.errors import BrittleError
from brittle.images.base import ImageSet, Reader, SubsetReader, alternatives
from brittle.images.folder import path_id
from brittle.images.scales.shift import StoredShift

Paths = Literal["each", "all"]
NAMED = 3  # of what is left out, in a sentence

SHIFTS_HELP = "only these shifts, a/b/c"
PREFIX_HELP = "what the shifts' names begin with, to tell them from other nuisances of a study"
PATHS_HELP = "each: a path is followed where its own scales exist; all: where those of every shift exist"


class Picture(NamedTuple):
    """One stored image."""

    label: int
    key: str  # of (class, seed): what its id is made from
    seed: int | str
    shift: str
    scale: float
    position: int  # for the reader


class StoredPaths(NamedTuple):
    """The pictures of all shifts, by key."""

    clean: Mapping[str, Picture]  # at scale 0, the first that there is
    stored: Mapping[str, Mapping[str, Mapping[float, int]]]  # shift → key → scale → position


def gathered(
    name: str,
    pictures: Sequence[Picture],
    classes: tuple[str, ...],
    reader: Reader,
    files: Sequence[str],
    paths: Paths,
    wanted: str | tuple[str, ...] | None = None,
    prefix: str = "",
) -> ImageSet:
    """The pictures at scale 0, with the shifts that lead away from them."""
    found = _sorted_out(name, pictures, files, wanted)
    complete = {shift: _complete(each, found.clean) for shift, each in found.stored.items()}
    notes = [note for shift in found.stored for note in _left_out(shift, found, complete[shift])]
    kept = _kept(complete, paths)
    if not kept:
        raise BrittleError(
            f"no path of the image set {name!r} has all of its scales" + (" in every shift" if paths == "all" else ""),
            notes[0] if notes else "Give images at scale 0 and above.",
        )
    if paths == "all" and len(kept) < len(found.clean):
        notes.append(f"{len(found.clean) - len(kept)} images of {name!r} are left out: some shift lacks scales of them")
    ids = {key: path_id(key) for key in kept}
    chosen = [found.clean[key] for key in kept]
    whole = ImageSet(
        name,
        torch.tensor([ids[key] for key in kept], dtype=torch.int64),
        torch.tensor([each.label for each in chosen], dtype=torch.int64),
        classes,
        kept,
        {"seed": [each.seed for each in chosen]},
        SubsetReader.of(reader, np.array([each.position for each in chosen], dtype=np.int64)),
        notes=tuple(notes),
    )
    shifts = {}
    for shift, keys in complete.items():
        there = [key for key in keys if key in ids]
        if there:
            positions = [[found.stored[shift][key][scale] for scale in keys[key]] for key in there]
            made = stored_shift(prefix + shift, next(iter(keys.values())), ids, there, positions, reader, files)
            shifts[made.name] = made
    return replace(whole, shifts=shifts)


def stored_shift(
    name: str,
    scales: Sequence[float],
    ids: Mapping[str, int],
    keys: Sequence[str],
    positions: Sequence[Sequence[int]],
    reader: Reader,
    files: Sequence[str],
) -> StoredShift:
    """A shift of the pictures `keys`, whose positions at every scale are known."""
    numbers = np.array([ids[key] for key in keys], dtype=np.int64)
    order = np.argsort(numbers)
    table = np.array(positions, dtype=np.int64)[order]
    return StoredShift(name, tuple(scales), numbers[order], table, reader, files)


def chosen_shifts(name: str, there: Sequence[str], wanted: str | tuple[str, ...] | None) -> list[str]:
    """Those of the shifts that an option names, all by default."""
    if wanted is None:
        return sorted(there)
    text = wanted if isinstance(wanted, str) else "/".join(wanted)
    return sorted(alternatives(text, set(there), f"{name}: the shift"))


def _sorted_out(
    name: str, pictures: Sequence[Picture], files: Sequence[str], wanted: str | tuple[str, ...] | None
) -> StoredPaths:
    """By shift, key and scale; two pictures of one place are an error."""
    shifts = chosen_shifts(name, list({each.shift for each in pictures}), wanted)
    stored: dict[str, dict[str, dict[float, int]]] = {shift: {} for shift in shifts}
    clean: dict[str, Picture] = {}
    for each in sorted(pictures, key=lambda one: (one.key, one.shift, one.scale, one.position)):
        if each.shift not in stored:
            continue
        scales = stored[each.shift].setdefault(each.key, {})
        if each.scale in scales:
            raise BrittleError(
                f"{name}: {files[scales[each.scale]]} and {files[each.position]} are both {each.key} of the shift "
                f"{each.shift!r} at scale {each.scale:g}",
                "Remove one of them.",
            )
        scales[each.scale] = each.position
        if each.scale == 0:
            clean.setdefault(each.key, each)
    return StoredPaths(clean, stored)


def _complete(stored: Mapping[str, Mapping[float, int]], clean: Mapping[str, Picture]) -> dict[str, tuple[float, ...]]:
    """The keys whose paths have all scales of the shift, and 0; with those above 0, rising."""
    scales = _scales(stored)
    return (
        {key: scales for key in stored if key in clean and all(scale in stored[key] for scale in scales)}
        if scales
        else {}
    )


def _scales(stored: Mapping[str, Mapping[float, int]]) -> tuple[float, ...]:
    return tuple(sorted({scale for there in stored.values() for scale in there if scale > 0}))


def _left_out(shift: str, found: StoredPaths, complete: Mapping[str, object]) -> Iterator[str]:
    """A sentence about the paths of a shift that are not followed."""
    stored = found.stored[shift]
    scales = _scales(stored)
    if not scales:
        yield f"the shift {shift!r} has no images above scale 0 and is left out"
        return
    lacking = {}
    for key in stored:
        if key not in complete:
            missing = [] if key in found.clean else ["0"]
            lacking[key] = missing + [f"{scale:g}" for scale in scales if scale not in stored[key]]
    if lacking:
        some = [f"{key} (scale {', '.join(missing)})" for key, missing in list(lacking.items())[:NAMED]]
        more = f" and {len(lacking) - NAMED} more" if len(lacking) > NAMED else ""
        yield (
            f"{len(lacking)} of {len(stored)} paths of the shift {shift!r} are not followed, since images are missing: "
            f"{'; '.join(some)}{more}"
        )


def _kept(complete: Mapping[str, Mapping[str, object]], paths: Paths) -> list[str]:
    """The keys that some shift follows, or all of them do, in order."""
    sets = [set(keys) for keys in complete.values() if keys]
    if not sets:
        return []
    return sorted(set.union(*sets) if paths == "each" else set.intersection(*sets))
