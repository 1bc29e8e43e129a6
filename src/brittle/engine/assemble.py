"""The one way to make a job: a study's specs and live objects, loaded and assigned to its measures."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from brittle.classifiers import classifier
from brittle.device import pick_device
from brittle.engine.check.foreign_code import attribute_errors, with_checked_pixels
from brittle.engine.hashes.file_hash import files_hash
from brittle.engine.hashes.object_hash import ObjectHash, object_hash
from brittle.engine.inputs import Inputs
from brittle.engine.job import Job
from brittle.engine.live_objects import is_live, nuisance_text, refuse_live, why_unknown
from brittle.engine.plan.assignments import Assignment, assign
from brittle.engine.precision import in_precision
from brittle.engine.store.folder_names import refuse_same_folders
from brittle.errors import BrittleError
from brittle.images import image_set
from brittle.images.base import of_one_shape
from brittle.images.compared_reader import with_comparison
from brittle.images.fingerprint import Fingerprints, fingerprints
from brittle.images.selection import ChosenImages, Selection
from brittle.nuisances import nuisance as open_nuisance
from brittle.nuisances.base.compose import Compose
from brittle.nuisances.shifts import StudyShifts, shifts_of
from brittle.registry import options_of
from brittle.registry.source import code_hash
from brittle.types import InScales, Nuisance

T = TypeVar("T")


def assemble(
    inputs: Inputs,
    device: str | None = None,
    batch: int | None = None,
    failed: Callable[[str, str, Exception], None] | None = None,
    load: bool = True,
    kept: bool = False,
    shifts: Mapping[str, Sequence[str]] | None = None,
) -> Job:
    """Loads everything, or nothing, where only names are wanted. Where rows are `kept` in a folder, live objects are
    identified, so that it knows them again. What can't be loaded is an error, or where a report
    only wants what is still there, `failed` is told its sort, its name and why, and `shifts` are those that such an
    image set is known to have brought."""
    place = pick_device(device)
    refuse_same_folders(inputs.classifiers, "classifiers")
    refuse_same_folders(inputs.images, "image sets")

    def opened(sort: str, wanted: Mapping[str, Any], open_one: Callable[[Any], T]) -> dict[str, T]:
        found = {}
        for name, what in wanted.items() if load else ():
            try:
                with attribute_errors({}, f"the {sort} {name!r}"):
                    refuse_live(what[0] if isinstance(what, tuple) else what)
                    found[name] = open_one(what)
            except (BrittleError, OSError, ImportError, SyntaxError) as error:
                if failed is None:
                    raise
                failed(sort, name, error)
        return found

    images = opened("image set", inputs.images, lambda what: _chosen(what, inputs.study.seed))
    brought = dict(shifts or {}) | {name: list(each.images.shifts) for name, each in images.items()}
    own = {shift for names in brought.values() for shift in names}
    named = opened("nuisance", inputs.nuisances, open_nuisance)
    walked = shifts_of(named, {*inputs.nuisances, *own})
    assignments = _assigned(inputs, brought, walked)
    used = [name for each in assignments.values() for name in each.nuisances if name not in own]
    every = {**inputs.nuisances, **{name: walked.made.get(name, name) for name in used if name not in inputs.nuisances}}
    refuse_same_folders([*every, *sorted(own)], "nuisances")
    refuse_same_folders(assignments, "measures")
    there = {
        name: named.get(name, what) for name, what in every.items() if name in named or name not in inputs.nuisances
    }
    spaces = opened("nuisance", there, lambda what: with_checked_pixels(with_image_sets(open_nuisance(what))))
    stored = {name: shift for each in images.values() for name, shift in each.images.shifts.items()}
    prints = opened("image set", images, fingerprints)
    classifiers = opened("classifier", inputs.classifiers, lambda what: classifier(what, device=str(place)))
    live, files = _hashes(inputs.classifiers, classifiers, kept)
    notes = dict.fromkeys(note for each in assignments.values() if each.asked for note in each.notes)
    return Job(
        classifiers=in_precision(classifiers, inputs.study.precision),
        plain=classifiers,
        precision=inputs.study.precision,
        images={name: images[name] for name in prints},
        nuisances={**spaces, **stored},
        assignments=assignments,
        seed=inputs.study.seed,
        device=place,
        batch=batch,
        facts=inputs.facts,
        entries=entries_of(inputs, prints, {**every, **stored}, files),
        trained_on=inputs.trained_on,
        live=live,
        warnings=(
            *_not_resumable(live, {name: nuisance_text(what) for name, what in every.items()} if kept else {}),
            *notes,
        ),
    )


def _chosen(asked: tuple[Any, Selection], seed: int) -> ChosenImages:
    source, selection = asked
    if isinstance(source, ChosenImages):  # by the process that this one works for
        return source
    return selection.choose(with_comparison(image_set(source)), seed)


def _hashes(
    given: Mapping[str, Any], loaded: Container[str], kept: bool
) -> tuple[dict[str, ObjectHash], dict[str, str]]:
    """By which a run folder knows classifiers again: live objects, and the contents of what is loaded."""
    live = {name: object_hash(what) for name, what in given.items() if kept and not isinstance(what, str)}
    files = {
        name: files_hash(what) if isinstance(what, str) else live[name].value if kept else ""
        for name, what in given.items()
        if name in loaded
    }
    return live, files


def _not_resumable(classifiers: Mapping[str, ObjectHash], nuisances: Mapping[str, str]) -> tuple[str, ...]:
    """What a run folder can't know again, a sentence each."""
    why = {f"classifier {name!r}": each.unknown for name, each in classifiers.items()}
    why |= {f"nuisance {name!r}": why_unknown(text) for name, text in nuisances.items()}
    return tuple(f"this run can't be resumed with the {what}: {text}" for what, text in why.items() if text)


def _assigned(inputs: Inputs, brought: Mapping[str, Sequence[str]], walked: StudyShifts) -> dict[str, Assignment]:
    """What is asked about what. A shift has a name of its own, and a nuisance that nothing would use is refused."""
    owners: dict[str, str] = {}
    for images, names in brought.items():
        for shift in names:
            other = "a nuisance of the study" if shift in inputs.nuisances else owners.setdefault(shift, images)
            if other != images:
                raise BrittleError(
                    f"the image set {images!r} brings a shift {shift!r}, which is also the name of "
                    + (other if shift in inputs.nuisances else f"one that {other!r} brings"),
                    "Give one of them another name, such as by prefix=… of the image set.",
                )
    found = assign(
        inputs.study.measures,
        list(inputs.classifiers),
        list(inputs.images),
        list(inputs.nuisances),
        inputs.trained_on,
        brought,
        walked,
    )
    used = {name for each in found.values() for name in each.nuisances}
    idle = next((name for name in inputs.nuisances if not used & {name, walked.of.get(name, name)}), None)
    if owners and idle is not None:
        raise BrittleError(
            f"the nuisance {idle!r} would be used on no image set: those in scales bring their own shifts",
            f"Leave it out, or name it in a measure: nuisances = [{idle!r}].",
        )
    return found


def entries_of(
    inputs: Inputs, prints: Mapping[str, Fingerprints], spaces: Mapping[str, Any], files: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """What each thing was made from, in plain values."""
    study = inputs.study
    return {
        "classifiers": {
            name: {"spec": entry.spec, "files": files.get(name, "")} for name, entry in study.classifiers.items()
        },
        "images": {
            name: {
                "spec": study.images[name].spec,
                "selection": study.images[name].selection.entry,
                "count": found.number,
                "fingerprint": found.images,
                "source": [
                    study.images[name].spec,
                    replace(study.images[name].selection, count=None).entry,
                    found.source,
                ],
            }
            for name, found in prints.items()
        },
        "nuisances": {
            name: name if isinstance(what, InScales) else _with_code(nuisance_text(what))
            for name, what in spaces.items()
        },
    }


def _with_code(spec: str) -> Any:
    """A nuisance's spec, with the contents of the user's own files that it names."""
    return [spec, found] if not is_live(spec) and (found := code_hash(spec)) else spec


def with_image_sets(space: Nuisance) -> Nuisance:
    """The nuisance with every option that names an image set holding the set itself: nuisances can't open one."""
    if isinstance(space, Compose):
        return dataclasses.replace(space, parts=tuple(map(with_image_sets, space.parts)))
    opened = {
        field.name: of_one_shape(image_set(getattr(space, field.name)))
        for field in options_of(type(space)).values()
        if field.metadata.get("image_set") and isinstance(getattr(space, field.name), str)
    }
    return dataclasses.replace(space, **opened) if opened else space  # type: ignore[type-var]
