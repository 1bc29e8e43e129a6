"""Named cases, made again and shown to the classifiers of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from brittle.cases import NamedCase
from brittle.classifiers.restore import restored_afterwards
from brittle.engine.job import Job
from brittle.engine.replay import replay_of
from brittle.errors import BrittleError, located
from brittle.registry import did_you_mean
from brittle.report.page.loaded import LoadedRun


class JudgedCase(NamedTuple):
    """What one classifier says of a case."""

    name: str
    classifier: str
    image_set: str
    image: int
    nuisance: str
    expected: str
    predicted: str
    probability: float  # of the class that is expected

    @property
    def right(self) -> bool:
        return self.predicted == self.expected


def judged_cases(run: LoadedRun, cases: Sequence[NamedCase]) -> list[JudgedCase]:
    """Every case shown to every classifier of the run."""
    lost = [name for name in run.study.classifiers if name not in run.job.classifiers]
    if cases and lost:
        raise BrittleError(
            f"the classifier {lost[0]!r} can't be loaded, so it can't be shown the named cases",
            "Restore it, or give the study in place of its run.",
        )
    found: list[JudgedCase] = []
    with restored_afterwards(run.job.classifiers.values()), torch.inference_mode():
        for case in cases:
            with located(f"the case {case.name!r}"):
                _refuse_another_picture(run, case)
                found += _judged(run, case)
    return found


def _judged(run: LoadedRun, case: NamedCase) -> Iterator[JudgedCase]:
    picture: Tensor | None = None
    for name, classifier in run.job.classifiers.items():
        if picture is None or run.job.needs(case.nuisance):  # as this classifier sees it
            picture = picture_of(run.job, case, name)
        names = run.label_names(name, case.images).names
        if case.expected not in names:
            raise BrittleError(f"{name} has no class {case.expected!r}", did_you_mean(case.expected, names))
        log_p = classifier.log_probs(picture[None])[0]
        wanted = [place for place, label in enumerate(names) if label == case.expected]
        said = names[int(log_p.argmax())]
        p = float(log_p[wanted].exp().sum())
        yield JudgedCase(case.name, name, case.images, case.image, case.nuisance, case.expected, said, p)


def picture_of(job: Job, case: NamedCase, classifier: str = "") -> Tensor:
    """The picture (C, H, W) of a case, on the job's device. Its image may be any of the set, chosen or not."""
    replay = replay_of(job, case.images, case.nuisance, classifier, job.device)
    if not job.needs(case.nuisance):
        replay = replace(replay, images=job.images[case.images].whole)
    places = (replay.images.ids == case.image).nonzero()
    if not len(places):
        raise BrittleError(f"the image set {case.images!r} has no image {case.image}", "Name one of its ids.")
    place = int(places[0])
    if case.theta is None:
        return replay.draws([(place, int(case.draw or 0))], case.severity)[0]
    theta = torch.tensor([case.theta], dtype=torch.float32)
    numbers = replay.nuisance.identity(replay.batch([place])).shape[-1]
    if theta.shape[-1] != numbers:
        raise BrittleError(
            f"theta has {theta.shape[-1]} numbers, and that of {case.nuisance!r} has {numbers}",
            "Copy θ from the rows of a run.",
        )
    return replay.at(place, theta, case.severity)[0]


def _refuse_another_picture(run: LoadedRun, case: NamedCase) -> None:
    """What the study calls by the case's names must be what the case was saved with."""
    for sort, name, there in (
        ("image set", case.images, list(run.job.images)),
        ("nuisance", case.nuisance, list(run.job.nuisances)),
    ):
        if name not in there:
            raise BrittleError(f"the study has no {sort} {name!r}", did_you_mean(name, there))
    spec = run.study.nuisances.get(case.nuisance, case.nuisance)
    if case.spec and case.spec != spec:
        raise BrittleError(
            f"the nuisance {case.nuisance!r} was {case.spec} when it was saved, and the study's is {spec}",
            "Save the case again, or give that nuisance a name of its own in the study.",
        )
    if case.seed is not None and case.seed != run.study.seed:
        raise BrittleError(
            f"it is of seed {case.seed}, and the study's is {run.study.seed}: draw {case.draw} is another θ",
            "Write its theta in place of draw and seed.",
        )
