"""What is tried before work begins: every classifier on a few images, every nuisance on every shape, every measure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import torch

from brittle.engine.check.classifier_trial import (
    ClassifierTrial,
    gradients_flow,
    trial_warnings,
    try_classifier,
    without_copies,
)
from brittle.engine.check.foreign_code import attribute_errors
from brittle.engine.check.nuisance_trial import try_nuisance
from brittle.engine.execute.batch_extras import check_extras
from brittle.engine.job import Job
from brittle.engine.plan.assignments import Assignment
from brittle.errors import BrittleError, Failure
from brittle.imagenet import ids, shown, taken_for_imagenets
from brittle.images.base import ImageSet, ShapeGroup, shape_of
from brittle.images.pixels import Shape, ragged
from brittle.measures import measures
from brittle.measures.base import PATH, Cell, ClassifierFacts, Derived
from brittle.measures.draws import check_stored
from brittle.memory import halving
from brittle.types import Classifier, Differentiable, Nuisance

CHECKED_IMAGES = 8

Answers = dict[str, dict[str, list[list[float]]]]  # classifier → image set → log-probabilities of a few images


class CheckedJob(NamedTuple):
    """A job whose classifiers are known by what they answered."""

    job: Job
    answers: Answers  # which a resumed run compares with its own, to notice changed weights


def check_job(job: Job) -> CheckedJob:
    """Tries everything on a few images of every set, and raises what would go wrong later."""
    answers: Answers = {}
    classifiers, warnings = dict(job.classifiers), dict.fromkeys(job.warnings)
    for images, names in _classifiers_by_image_set(job).items():
        there = job.images[images].images
        count = min(CHECKED_IMAGES, len(there))
        places = [*range(count), *(place for place in _extremes(there) if place >= count)]
        with attribute_errors({}, f"the image set {images!r}"):
            groups = there.groups(places, job.device)
        order = torch.cat([group.places for group in groups]).argsort()
        for name in names:
            with attribute_errors({f"classifier {name!r}": classifiers[name]}, f"classifier {name!r}"):
                trials = list(_trials(classifiers[name], there, places, groups))
            classifiers[name] = trials[-1].classifier
            warnings |= dict.fromkeys(text for trial in trials for text in trial_warnings(name, trial))
            found = torch.cat([trial.answers for trial in trials])[order][:count]
            # Answers that differ each time, or are not finite, show nothing about changed weights.
            steady = not any(trial.unsteady for trial in trials) and bool(found.isfinite().all())
            answers.setdefault(name, {})[images] = found.double().round(decimals=9).tolist() if steady else []
    job = replace(job, classifiers=classifiers, warnings=tuple(warnings), _known={})
    facts = {
        name: ClassifierFacts.of(name, without_copies(each), job.facts.get(name))
        for name, each in job.classifiers.items()
    }
    usual = tuple(map(shown, ids()))
    taken = {name: replace(each, labels=usual, named=True) for name, each in facts.items() if _is_imagenet(job, each)}
    warnings |= dict.fromkeys(
        f"classifier {name!r} has 1,000 classes without names, and the classes of its images are WordNet ids: they are "
        "taken for ImageNet's, in their usual order; if they are not, give labels=…"
        for name in taken
    )
    facts |= taken
    job = replace(job, facts=facts, warnings=tuple(warnings), _known={})
    let_through: set[tuple[str, str]] = set()  # the classifiers and image sets whose gradients have been tried
    for assignment in job.assignments.values():
        asked = job.asked(assignment)
        for cell in (*assignment.cells(), *assignment.bare_cells()):
            if cell.images and cell.classifier:
                job.references(cell.classifier, cell.images)
            assignment.measure.check(job.about(cell), asked)
            _check_stored(assignment, cell, job)
            _check_needs(assignment, cell, job, let_through)
            _check_reads(assignment, cell, job)
    _check_nuisances(job)
    return CheckedJob(job, answers)


def _is_imagenet(job: Job, facts: ClassifierFacts) -> bool:
    sets = [
        job.subject(images).classes for images, names in _classifiers_by_image_set(job).items() if facts.name in names
    ]
    return bool(sets) and all(taken_for_imagenets(facts.labels, facts.named, classes) for classes in sets)


def _check_nuisances(job: Job) -> None:
    """Tries every nuisance on every shape of the images that it is asked about, and on every classifier that it needs
    something of."""
    cells = [cell for each in job.assignments.values() for cell in each.cells()]
    pairs = dict.fromkeys((cell.images, cell.nuisance) for cell in cells if cell.images and cell.nuisance)
    for images, name in pairs:
        there = job.images[images].images
        for shape, places in there.shapes.items():
            check_nuisance(name, job.nuisances[name], shape, there.names[places[0]] if len(there.shapes) > 1 else "")
    for name, shape in dict.fromkeys((name, job.images[images].images.median_shape) for images, name in pairs):
        try_nuisance(job.nuisances[name], shape)
    # What a classifier gives beside images is tried once, however many measures ask for it.
    alike = {cell[1:] if cell.classifier else cell: cell for cell in cells}
    for cell in alike.values():
        check_extras(job, cell)


def _classifiers_by_image_set(job: Job) -> dict[str, list[str]]:
    """Image set → the classifiers that some measure is asked about on it."""
    found: dict[str, dict[str, None]] = {}
    for assignment in job.assignments.values():
        for images in assignment.images:
            found.setdefault(images, {}).update(dict.fromkeys(assignment.classifiers))
    return {images: list(names) for images, names in found.items()}


def _check_needs(assignment: Assignment, cell: Cell, job: Job, let_through: set[tuple[str, str]]) -> None:
    """Refuses a classifier that lacks what a measure needs, or promises gradients and lets none through; that is tried
    once for a classifier and an image set, and those that pass are added to `let_through`."""
    classifier = cell.classifier
    live = without_copies(job.classifiers[classifier]) if classifier in job.classifiers else None
    for protocol in assignment.measure.needs:
        if live is not None and not isinstance(live, protocol):
            members = sorted(name for name in vars(protocol) if not name.startswith("_"))
            kinds = measures.loaded()
            others = sorted(
                name for name in kinds if all(isinstance(live, each) for each in measures.make(name, {}).needs)
            )
            raise BrittleError(
                f"the measure {assignment.name!r} needs a {protocol.__name__.lower()} classifier, and {classifier!r} "
                f"is not one: it has no {', '.join(members)}",
                f"Give a torch module; {classifier!r} can be measured by {', '.join(others)}.",
            )
        tried = (classifier, cell.images)
        if protocol is Differentiable and isinstance(live, Differentiable) and cell.images and tried not in let_through:
            with attribute_errors({f"classifier {classifier!r}": live}, f"classifier {classifier!r}"):
                flow = gradients_flow(live, job.images[cell.images].images.batch([0], job.device).images)
            if not flow:
                raise BrittleError(
                    f"the measure {assignment.name!r} needs gradients, and those of {classifier!r} do not reach the "
                    "images",
                    "Its module detaches its input or computes without gradients (no_grad, numpy): remove that.",
                )
            let_through.add(tried)


def _check_stored(assignment: Assignment, cell: Cell, job: Job) -> None:
    """Refuses images that are not stored where the measure does not see to that itself, as those over paths do: the
    whole set at scale 0, or some of its images at some scale of a shift; and nuisances that would change images at
    scale 0 where there are none."""
    if not cell.images:
        return
    if PATH not in assignment.measure.over and (len(job.plan(cell)) or isinstance(assignment.measure, Derived)):
        check_stored(job.about(cell), assignment.name)
    if (
        not job.subject(cell.images).origin
        and cell.nuisance
        and cell.nuisance not in job.images[cell.images].images.shifts
    ):
        raise BrittleError(
            f"the image set {cell.images!r} has no images at scale 0 that {cell.nuisance!r} could change",
            "Name them: clean=SPEC of the image set, in a table rows at scale 0; or use its own shifts alone.",
        )


def _check_reads(assignment: Assignment, cell: Cell, job: Job) -> None:
    """Refuses to read rows of a measure which is not asked about the same, or may stop before it has those of a
    unit."""
    given = job.reads(cell)
    for read in (each for each in assignment.measure.reads if each.required and each.kind not in given):
        name = assignment.reads[read.kind]
        other = job.assignments[name]
        if not other.measure.over <= assignment.measure.over:
            continue
        there = other.cell(cell.classifier, cell.images, cell.nuisance)
        if there not in set(other.cells()) or (job.can_stop(there) and len(job.plan(cell))):
            raise BrittleError(
                f"the measure {assignment.name!r} reads rows of {name!r}, which may stop before it has them all or is "
                f"not asked about {cell.classifier!r} on {cell.images!r}",
                f"Give {name!r} no tolerance and no restriction, or name another measure: reads = […].",
            )


def check_nuisance(name: str, nuisance: Nuisance, shape: Shape, image: str = "") -> None:
    """Refuses, before work begins, what is not a nuisance or can't transform these images, or the one image named."""
    members = {member for member in vars(Nuisance) if not member.startswith("_")}
    lacking = sorted(members - set(dir(nuisance)))
    if lacking:
        raise BrittleError(
            f"{name!r} is not a nuisance: it lacks {', '.join(lacking)}",
            "Write what `brittle.Nuisance` lists, or start from brittle.nuisances.base.gaussian.GaussianNuisance.",
        )
    try:
        with attribute_errors({f"the nuisance {name!r}": nuisance}):
            nuisance.check(shape)
    except BrittleError as error:
        if not image:
            raise
        raise BrittleError(f"{image}: {error.what}", error.remedy) from error


def _extremes(images: ImageSet) -> list[int]:
    """Where shapes differ, one image each of the least and greatest channels, height, width and aspect: what a
    classifier can't take shows there."""
    if len(images.shapes) == 1:
        return []
    keys: list[Callable[[Shape], float]] = [lambda s: s[0], lambda s: s[1], lambda s: s[2], lambda s: s[1] / s[2]]
    return list({images.shapes[pick(images.shapes, key=key)][0]: None for key in keys for pick in (min, max)})


def _trials(
    classifier: Classifier, images: ImageSet, positions: Sequence[int], groups: Sequence[ShapeGroup]
) -> Iterator[ClassifierTrial]:
    """What a classifier does with the images at `positions`, tried one shape after the other."""
    for places, batch in groups:
        try:
            trial, _ = halving(partial(try_classifier, classifier, batch.images), len(places))
        except BrittleError as error:
            shape = shape_of(batch.images)
            other = next((each for each in images.shapes if each != shape), None)
            if other is None or isinstance(error, Failure):
                raise
            name, other_name = images.names[positions[int(places[0])]], images.names[images.shapes[other][0]]
            differing = ragged(name, shape, other_name, other)
            raise BrittleError(f"{error.what}, and {differing.what}", f"{error.remedy} {differing.remedy}") from error
        classifier = trial.classifier
        yield trial
