"""Film strips: one image along its path, with what every classifier says and where it fails (CNS-Bench, figure 1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from torch import Tensor

from brittle.measures.failure_points.measure import FailurePoints
from brittle.measures.failure_points.trajectories import Trajectories, trajectories
from brittle.report.page.confirmation import Confirmation, StoredAnswer, confirm
from brittle.report.page.section import MeasureRun

MOST_IMAGES, MOST_CLASSIFIERS, MOST_FRAMES = 4, 4, 9


class Answer(NamedTuple):
    """What one classifier says of a frame."""

    classifier: str
    label: str
    probability: float
    right: bool
    fails: bool  # here first


class Frame(NamedTuple):
    value: float
    image: Tensor  # (C, H, W)
    answers: tuple[Answer, ...]


class Film(NamedTuple):
    name: str
    label: str
    frames: tuple[Frame, ...]


class Films(NamedTuple):
    films: tuple[Film, ...] = ()
    confirmation: Confirmation = Confirmation()
    why_not: str = ""


def films(run: MeasureRun, images: str, nuisance: str, classifiers: Sequence[str]) -> Films:
    """Images that the classifiers get right at the lowest severity, from the first that fails to the last."""
    view, why_not = run.view, run.whole.why_unreadable(images, nuisance, classifiers)
    if view is None or why_not:
        return Films(why_not=why_not)
    names = run.whole.seen_by(nuisance, classifiers)[:MOST_CLASSIFIERS]
    measure = view.job.assignments[run.name].measure
    assert isinstance(measure, FailurePoints)
    grid = measure.grid(view.about(view.cell(names[0], images, nuisance)))
    count = len(grid.values)
    found = {name: trajectories(view, name, images, nuisance, count, measure.repeats) for name in names}
    first = np.stack([each.first[:, 0] for each in found.values()])  # (classifiers, M)
    begin = found[names[0]].begin
    usable = np.flatnonzero((first > begin).all(0) & (first <= count).any(0))
    if not len(usable):
        return Films(why_not=f"No image that is right at {(0, *grid.values)[begin]:g} fails along its path.")
    order = usable[np.argsort(first[:, usable].mean(0), kind="stable")]
    chosen = order[np.unique(np.linspace(0, len(order) - 1, MOST_IMAGES).round().astype(int))]
    replay, subject = run.whole.replay(images, nuisance, names[0]), view.images[images]
    severities, confirmation, made = [0.0, *grid.tensor().tolist()], Confirmation(), []
    for each in chosen.tolist():
        place = int(found[names[0]].places[each])
        frames = []
        for at in _shown(first[:, each], begin, count):
            image = replay.images.batch([place]).images[0]
            if at:
                image = replay.draws([(place, 0)], severities[at])[0]
            frame = Frame((0.0, *grid.values)[at], image, tuple(_answers(run, images, found, each, at)))
            frames.append(frame)
            confirmation = _confirmed(run, frame, found, each, at, confirmation)
        made.append(Film(subject.names[place], subject.class_name(int(subject.labels[place])), tuple(frames)))
    return Films(tuple(made), confirmation)


def _shown(first: np.ndarray[tuple[int], np.dtype[np.int64]], begin: int, count: int) -> list[int]:
    """Places along the grid: all of a short one, otherwise the first, every failure and what lies between."""
    if count < MOST_FRAMES:
        return list(range(begin, count + 1))
    wanted = {begin, *(int(at) for at in first if at <= count)}
    for at in np.linspace(begin, count, MOST_FRAMES).round().astype(int).tolist():
        if len(wanted) < MOST_FRAMES:
            wanted.add(at)
    return sorted(wanted)


def _answers(run: MeasureRun, images: str, found: dict[str, Trajectories], image: int, at: int) -> list[Answer]:
    said = []
    for name, paths in found.items():
        if paths.seen[image, 0, at]:
            predicted = int(paths.predicted[image, 0, at])
            said.append(
                Answer(
                    name,
                    run.whole.label_names(name, images)(predicted),
                    float(np.exp(paths.log_p_predicted[image, 0, at])),
                    not bool(paths.wrong[image, 0, at]),
                    int(paths.first[image, 0]) == at,
                )
            )
    return said


def _confirmed(
    run: MeasureRun, frame: Frame, found: dict[str, Trajectories], image: int, at: int, before: Confirmation
) -> Confirmation:
    for name, paths in found.items():
        live = run.whole.classifier(name)
        if live is not None and paths.seen[image, 0, at]:
            stored = StoredAnswer(
                frame.image, int(paths.predicted[image, 0, at]), float(np.exp(paths.log_p_predicted[image, 0, at]))
            )
            before = before.plus(confirm(live, [stored]))
    return before
