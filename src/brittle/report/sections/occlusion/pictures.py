"""Images as more and more of them is hidden, made again from the study, with what classifiers said of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc
import torch
from torch import Tensor

from brittle.engine.view import View
from brittle.measures.occlusion.measure import Occlusion
from brittle.report.page.confirmation import Confirmation, StoredAnswer, confirm
from brittle.report.page.section import MeasureRun
from brittle.report.sections.occlusion import words
from brittle.types import HidesShare

IMAGES, CLASSIFIERS, SHARES = 3, 4, 5


class Said(NamedTuple):
    """What a classifier said of a picture."""

    classifier: str
    label: str
    probability: float
    right: bool


class Shown(NamedTuple):
    share: float | None
    image: Tensor  # (C, H, W)
    said: tuple[Said, ...]


class Strip(NamedTuple):
    name: str
    label: str
    original: Tensor
    shown: tuple[Shown, ...]


class Strips(NamedTuple):
    strips: tuple[Strip, ...] = ()
    confirmation: Confirmation = Confirmation()
    why_not: str = ""
    only: str = ""  # the classifier that sees these pictures, where others see other ones


def strips(run: MeasureRun, images: str, nuisance: str, classifiers: Sequence[str]) -> Strips:
    """The first images in planned order, of different classes while there are some."""
    view, why_not = run.view, run.whole.why_unreadable(images, nuisance, classifiers)
    if view is None or why_not:
        return Strips(why_not=why_not)
    measure, space = view.job.assignments[run.name].measure, view.nuisances[nuisance]
    assert isinstance(measure, Occlusion)
    seeing = run.whole.seen_by(nuisance, classifiers)[:CLASSIFIERS]
    shares = measure.shares_of(space)
    places = words.some(shares, SHARES)
    replay, subject = run.whole.replay(images, nuisance, seeing[0]), view.images[images]
    _, firsts = np.unique(subject.labels, return_index=True)
    found, confirmation = [], Confirmation()
    for place in sorted(firsts.tolist())[:IMAGES]:
        theta = replay.theta(place, 0).expand(len(shares), -1)
        if isinstance(space, HidesShare) and shares[0] is not None:
            theta = space.with_share(theta, torch.tensor(shares, dtype=torch.float64))
        made = replay.at(place, theta)
        answers = {name: _answers(run, view, name, images, nuisance, place) for name in seeing}
        for name in seeing:
            live = run.whole.classifier(name)
            if live is not None:
                stored = [StoredAnswer(made[at], *answers[name][at][:2]) for at in places]
                confirmation = confirmation.plus(confirm(live, stored))
        found.append(
            Strip(
                subject.names[place],
                subject.class_name(int(subject.labels[place])),
                replay.images.batch([place]).images[0],
                tuple(Shown(shares[at], made[at], _named(run, images, answers, at)) for at in places),
            )
        )
    return Strips(tuple(found), confirmation, only=seeing[0] if view.job.needs(nuisance) else "")


Answer = tuple[int, float, bool]  # predicted, its probability, right


def _answers(run: MeasureRun, view: View, classifier: str, images: str, nuisance: str, place: int) -> list[Answer]:
    """What was said of an image's first mask at every share."""
    cell = view.cell(classifier, images, nuisance)
    rows = run.once(("rows", cell), lambda: view.table(cell))
    image = int(view.images[images].ids[place])
    here = rows.filter(pc.and_(pc.equal(rows["image"], image), pc.equal(rows["repeat"], 0))).sort_by("place")
    columns = (here[name].to_pylist() for name in ("predicted", "log_p_predicted", "rank"))
    return [(predicted, float(np.exp(log_p)), rank == 0) for predicted, log_p, rank in zip(*columns, strict=True)]


def _named(run: MeasureRun, images: str, answers: dict[str, list[Answer]], at: int) -> tuple[Said, ...]:
    return tuple(
        Said(name, run.whole.label_names(name, images)(each[at][0]), each[at][1], each[at][2])
        for name, each in answers.items()
    )
