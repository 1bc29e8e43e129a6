"""What of a study a measure can say something about: shifts in place of fixed levels, and no more than it can read.

Both follow from the study alone, so that whatever is left out is said before work begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from brittle.errors import BrittleError
from brittle.measures.base import CLASSIFIER, IMAGES, NUISANCE, PATH, Derived
from brittle.nuisances.shifts import StudyShifts

if TYPE_CHECKING:
    from brittle.engine.plan.assignments import Assignment

SHOWN = 5  # names in a message


def with_shifts(assignment: Assignment, walked: StudyShifts) -> Assignment:
    """With shifts in place of nuisances at fixed levels, where the measure is over paths."""
    if PATH not in assignment.measure.over:
        return assignment
    under = {
        images: _each_once(walked.of.get(name, name) for name in names) for images, names in assignment.under.items()
    }
    merged: dict[str, dict[str, None]] = {}
    for name in assignment.nuisances:
        shift = walked.of.get(name, name)
        if shift != name and shift not in walked.made:
            merged.setdefault(shift, {shift: None})[name] = None
    notes = tuple(
        f"{_listed(list(names))} are one path to measures that walk severities themselves: only {shift!r} is measured"
        for shift, names in merged.items()
    )
    return replace(assignment, under=under, notes=(*assignment.notes, *notes))


def within_reads(reader: Assignment, found: Mapping[str, Assignment]) -> Assignment:
    """A measure that derives everything from others, without what these are not asked about."""
    if not isinstance(reader.measure, Derived):
        return reader
    for read in reader.measure.reads:
        if read.required:
            reader = _within(reader, found[reader.reads[read.kind]])
    return reader


def _within(reader: Assignment, read: Assignment) -> Assignment:
    """A reader's classifiers, and its image sets with their nuisances, as far as they are those of what it reads."""
    over, bare = read.measure.over, reader.bare
    under_some = bool(over & {NUISANCE, PATH})
    classifiers = tuple(name for name in reader.classifiers if CLASSIFIER not in over or name in read.classifiers)
    under: dict[str, tuple[str, ...]] = {}
    for images, names in reader.under.items():
        there = IMAGES not in over or images in read.images
        asked = read.under.get(images, ()) if IMAGES in over else read.nuisances
        kept = tuple(name for name in names if there and (not under_some or name in asked))
        if kept or (there and not names) or (under_some and images in bare):
            under[images] = kept
        elif images in bare:
            raise _nothing_left(reader, read, f"the image set {images!r}, which it can't do without")
    no_nuisance = not any(under.values()) and any(reader.under.values())
    for sort, gone in (("classifiers", not classifiers), ("image sets and nuisances", not under or no_nuisance)):
        if gone:
            raise _nothing_left(reader, read, f"any of its {sort}")
    notes = reader.notes
    if left_out := list(_left_out(reader, classifiers, under)):
        it = "it" if len(left_out) == 1 else "them"
        notes += (
            f"the measure {reader.name!r} leaves out {_listed(left_out)}: {read.name!r}, which it reads, is not asked "
            f"about {it}",
        )
    return replace(reader, classifiers=classifiers, images=tuple(under), under=under, notes=notes)


def _left_out(reader: Assignment, classifiers: Sequence[str], under: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """What a reader was asked about and is no longer: each name once; a nuisance that is left on other sets, with the
    set."""
    yield from (name for name in reader.classifiers if name not in classifiers)
    sets = [images for images in reader.under if images not in reader.bare]
    yield from (images for images in sets if images not in under)
    sets = [images for images in sets if images in under]
    kept = {name for images in sets for name in under[images]}
    yield from dict.fromkeys(name for images in sets for name in reader.under[images] if name not in kept)
    for images in sets:
        gone = (name for name in reader.under[images] if name in kept and name not in under[images])
        yield from (f"{name} on {images}" for name in gone)


def _nothing_left(reader: Assignment, read: Assignment, what: str) -> BrittleError:
    return BrittleError(
        f"the measure {reader.name!r} reads {read.name!r}, which is not asked about {what}",
        "Remove a restriction of one of them: classifiers = […], images = […] or nuisances = […].",
    )


def _each_once(names: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _listed(names: Sequence[str]) -> str:
    """'a', 'b' and 'c'; a long list is cut."""
    shown = [repr(name) for name in names[:SHOWN]]
    if len(names) > SHOWN:
        return f"{', '.join(shown)} and {len(names) - SHOWN} more"
    return " and ".join((", ".join(shown[:-1]), shown[-1]) if len(shown) > 1 else shown)
