"""How classifiers are carried out: in which numbers, and whether as compiled graphs.

What is decided follows from the study, the device and the number of calls planned, never from a clock, and once a run
has begun from what its folder keeps: rows depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from brittle.classifiers.onnx_session import Exportable
from brittle.device import products_in
from brittle.engine.check.classifier_trial import without_copies
from brittle.engine.job import Job
from brittle.engine.plan.missing import asked_groups, planned_calls
from brittle.errors import BrittleError
from brittle.libraries import first_line
from brittle.measures.answers import Answers
from brittle.measures.changes import DrawnTheta, Untouched
from brittle.measures.graphs import Graphs, untold
from brittle.measures.outcomes import Outcome
from brittle.memory import out_of_memory
from brittle.random import stream_root
from brittle.types import AnyPrecision, Graph, Graphable

WORTH_EXPORTING = 2e9  # values of images that a CPU is to classify: minutes of work, and exporting takes one at most
WORTH_COMPILING = 5e10  # values of images that a GPU is to classify: half a minute of work, and compiling saves half
TRIED = 64  # images on which precisions are compared
DRAWS = 2  # of each nuisance there
NOTHING = 1e-5  # of a probability: what another order of operations makes of float32


class Deviation(NamedTuple):
    """How far answers lie from those of the module as it is."""

    probability: float  # the most of any label's
    mean: float  # of the mean over images and draws

    def __str__(self) -> str:
        return f"probabilities by up to {self.probability:.2g} and their mean (ρ̂) by {self.mean:+.2g}"


def carried_as(job: Job, wanted: str, kept: Mapping[str, str]) -> Job:
    """The job as it is carried out, and with what that changes among its warnings."""
    known: dict[str, Tensor] = {}
    return _decided(_in_precision(job, known), wanted, kept, known)


def _in_precision(job: Job, known: dict[str, Tensor]) -> Job:
    """What other numbers change; what classifiers then say of a few images is `known`."""
    if job.precision == "float32":
        return job
    said = []
    for name, classifier in job.classifiers.items():
        if not isinstance(without_copies(classifier), AnyPrecision):
            said.append(
                f"the classifier {name!r} is not a torch module, and precision={job.precision} does not reach it"
            )
        elif job.precision == "bf16":
            known[name] = _few(job, name)
            before = _few(replace(job, classifiers={**job.classifiers, name: job.plain[name]}, _known={}), name)
            said.append(f"precision=bf16 changes, of the classifier {name!r}, {_apart(known[name], before)}")
        elif job.device.type == "cuda":
            with products_in("tf32"):
                now = _few(job, name)
            with products_in("float32"):
                said.append(f"precision=tf32 changes, of the classifier {name!r}, {_apart(now, _few(job, name))}")
    return replace(job, warnings=(*job.warnings, *said), _known={})


def _decided(job: Job, wanted: str, kept: Mapping[str, str], known: Mapping[str, Tensor]) -> Job:
    """The job with the graphs of the classifiers that are compiled: those that the run `kept` so, and new ones where it
    is `wanted` or, with auto, worth it. What can't be compiled is carried out as it is, and said. What some classifiers
    say of a few images without a graph is `known`."""
    ways = {name: way for name, way in kept.items() if way != "no" and name in job.classifiers}
    way = _worth(job) if wanted == "auto" else wanted
    if way != "no":
        ways |= {name: way for name in job.classifiers if name not in kept}
    graphs, notes = {}, []
    for name, how in ways.items():
        try:
            (graphs[name],) = graphs_of(job, {name: how}).values()
        except NotCompiled as error:
            if name in kept:
                raise BrittleError(
                    f"the classifier {name!r} was compiled when the run began and can't be here: {error}",
                    "Resume on the same machine, or run into another folder.",
                ) from error
            notes.append(f"the classifier {name!r} is not compiled: {error}")
            continue
        before = known[name] if name in known else _few(job, name)
        change = _apart(_few(replace(job, graphs=graphs, _known={}), name), before)
        if change.probability > NOTHING:
            notes.append(f"compiling the classifier {name!r} changes {change}")
    wanted_in_vain = wanted == "auto" and not kept
    said = [note for note in notes if not (wanted_in_vain and "is not compiled" in note)]
    ways = {name: how for name, how in ways.items() if name in graphs}
    return replace(job, graphs=graphs, ways=ways, warnings=(*job.warnings, *said), _known={})


class NotCompiled(Exception):
    """Why a classifier is not compiled, in words."""


def graphs_of(job: Job, ways: Mapping[str, str]) -> dict[str, Graph]:
    """The graphs of some classifiers: "yes", for torch's compiler, or "onnx"."""
    found: dict[str, Graph] = {}
    for name, way in ways.items():
        classifier, sets = job.classifiers[name], _image_sets(job, name)
        if not isinstance(classifier, Exportable if way == "onnx" else Graphable):
            raise NotCompiled("it is not a torch module")
        if not sets or any(len(job.images[each].images.shapes) > 1 for each in sets):
            raise NotCompiled("its images differ in size")
        try:
            there = job.images[sets[0]].images
            batch = there.batch([0, 1][: len(job.subject(sets[0]).ids)], job.device).in_numbers()
            found[name] = classifier.exported(batch.images) if way == "onnx" else classifier.graph(batch.images)
            with untold():
                _answers(replace(job, graphs=found, _known={}), name, sets[0], None)
        except Exception as error:
            if out_of_memory(error) or (isinstance(error, BrittleError) and way != "onnx"):
                raise
            raise NotCompiled(first_line(error)) from error
    return found


def _apart(now: Tensor, before: Tensor) -> Deviation:
    """How the answers about a few images differ from those of a classifier that is carried out otherwise."""
    return Deviation(float((now - before).abs().max()), float(now.mean() - before.mean()))


def _few(job: Job, name: str) -> Tensor:
    """p(ℓ) of a few images of every set, untouched and under draws of a nuisance."""
    found = [
        _answers(job, name, images, nuisance).log_p_label.double().exp()
        for images in _image_sets(job, name)
        for nuisance in (None, *_nuisances(job, name, images))
    ]
    return torch.cat(found)


def _answers(job: Job, name: str, images: str, nuisance: str | None) -> Outcome:
    """What a classifier says of a few images, untouched or under draws of a nuisance."""
    there = job.images[images].images
    count = min(TRIED, len(there))
    batch = there.batch(list(range(count)), job.device)
    right = torch.from_numpy(job.references(name, images)[:count]).to(job.device)
    answers = Answers(batch, {name: job.classifiers[name]}, job.batch_size(images), graphs=Graphs(job.graphs))
    rows = torch.arange(count, device=job.device)
    with torch.inference_mode():
        if nuisance is None:
            return answers.all(rows, {}, Untouched(), {name: right}).outcomes[name]()
        change = DrawnTheta(job.nuisances[nuisance], stream_root(job.seed, job.stream(nuisance), job.device))
        draws = torch.arange(DRAWS, device=job.device).repeat_interleave(count)
        return answers.all(rows.repeat(DRAWS), {"draw": draws}, change, {name: right}).outcomes[name]()


def _image_sets(job: Job, name: str) -> list[str]:
    """The image sets of one shape or several that some measure asks a classifier about."""
    asked = (images for each in job.assignments.values() if name in each.classifiers for images in each.images)
    return [images for images in dict.fromkeys(asked) if images in job.images]


def _nuisances(job: Job, name: str, images: str) -> list[str]:
    """The first nuisance that a classifier is asked about on an image set, and that needs nothing of it."""
    cells = (cell for each in job.assignments.values() if name in each.classifiers for cell in each.cells())
    found = (
        cell.nuisance for cell in cells if cell.images == images and cell.nuisance and not job.needs(cell.nuisance)
    )
    return list(dict.fromkeys(found))[:1]


def _worth(job: Job) -> str:
    """Whether there is enough to do, and what is then worth it."""
    work = sum(
        planned_calls(group) * math.prod(job.images[group.images].images.shape)
        for group in asked_groups(job)
        if group.images
    )
    if job.device.type == "cuda":
        return "yes" if work >= WORTH_COMPILING else "no"
    return "onnx" if job.device.type == "cpu" and work >= WORTH_EXPORTING else "no"
