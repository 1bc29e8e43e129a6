"""Clean and broken images side by side, per classifier (UREM, figure 4), made again from the study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from torch import Tensor

from brittle.measures.breaking_points.measure import BreakingPoints
from brittle.measures.breaking_points.summary import Points, points_of
from brittle.report.page.confirmation import Confirmation, StoredAnswer, confirm
from brittle.report.page.section import MeasureRun

MOST_IMAGES, MOST_CLASSIFIERS = 8, 4


class Break(NamedTuple):
    """What one classifier says of an image before and at its break."""

    classifier: str
    clean: str  # the label
    clean_probability: float
    image: Tensor | None  # (C, H, W) at the break; None where the path did not break
    label: str
    predicted: int
    probability: float
    value: float


class Strip(NamedTuple):
    name: str
    label: str
    original: Tensor  # (C, H, W)
    breaks: tuple[Break, ...]


class Strips(NamedTuple):
    strips: tuple[Strip, ...] = ()
    confirmation: Confirmation = Confirmation()
    why_not: str = ""


def strips(run: MeasureRun, images: str, nuisance: str, classifiers: Sequence[str]) -> Strips:
    """Images that all classifiers get right, from those that break first to those that break last."""
    view, why_not = run.view, run.whole.why_unreadable(images, nuisance, classifiers)
    if view is None or why_not:
        return Strips(why_not=why_not)
    measure = view.job.assignments[run.name].measure
    assert isinstance(measure, BreakingPoints)
    grid = measure.grid(view.about(view.cell(classifiers[0], images, nuisance)))
    shown = [name for name in classifiers if not run.whole.why_unreadable(images, nuisance, [name])]
    found = {name: points_of(view, name, images, nuisance, grid) for name in shown[:MOST_CLASSIFIERS]}
    right = np.logical_and.reduce([each.right for each in found.values()]).nonzero()[0]
    if not len(right):
        return Strips(why_not="No image is classified correctly by all classifiers.")
    mean = np.mean([each.value[right, 0] for each in found.values()], 0)
    order = right[np.argsort(mean, kind="stable")]
    places = order[np.unique(np.linspace(0, len(order) - 1, MOST_IMAGES).round().astype(int))]
    replays = {name: run.whole.replay(images, nuisance, name) for name in found}
    subject, pixels = view.images[images], view.job.images[images].images
    severities = grid.tensor()
    confirmation, made = Confirmation(), []
    for place in places.tolist():
        breaks = []
        for name, points in found.items():
            at = round(points.value[place, 0] / grid.step) - 1
            broke, names = bool(points.broke[place, 0]), run.whole.label_names(name, images)
            within = at if measure.noise == "fresh" else None
            image = replays[name].draws([(place, 0)], float(severities[at]), within)[0] if broke else None
            each = Break(
                name,
                names(int(points.base[place])),
                _clean_probability(points, place),
                image,
                names(int(points.predicted[place, 0])),
                int(points.predicted[place, 0]),
                float(points.p_star[place, 0]),
                float(points.value[place, 0]),
            )
            breaks.append(each)
            live = run.whole.classifier(name)
            if live is not None and each.image is not None:
                confirmation = confirmation.plus(
                    confirm(live, [StoredAnswer(each.image, each.predicted, each.probability)])
                )
        original = pixels.batch([place]).images[0]
        made.append(
            Strip(subject.names[place], subject.class_name(int(subject.labels[place])), original, tuple(breaks))
        )
    return Strips(tuple(made), confirmation)


def _clean_probability(points: Points, place: int) -> float:
    return float(points.p_clean[place])
