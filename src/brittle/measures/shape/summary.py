"""What is said of shape and texture: accuracies with intervals, shape bias, and consistency of errors.

    shape bias = shape / (shape + texture)    over stimuli whose shape and texture differ

counts the answers that are the one or the other (Geirhos et al. 2019, section 2). Stimuli of one shape image, or of one
texture image, are not independent, so intervals are drawn over both (`statistics/crossed.py`).
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from brittle.measures.base import RunView, Subject
from brittle.measures.distortion import BESIDE, Part, in_short, models
from brittle.measures.shape.deciders import (
    CLASSIFIER,
    PERSON,
    SHARED,
    Decider,
    classifier_decider,
    factors,
    others,
    refuse_strangers,
    textures,
)
from brittle.measures.shape.decisions import together
from brittle.measures.shape.differences import comparisons, differences
from brittle.statistics.consistency import consistency, interval, redrawn, redrawn_together
from brittle.statistics.crossed import FEW_LEVELS, resampled, share_interval
from brittle.statistics.intervals import betting_bounds

if TYPE_CHECKING:
    from brittle.measures.shape.measure import Shape

Array = NDArray[np.float64]
GATHERED = ("di", "top_class", "tied_classes", "points_to_top", "points_by_chance", "chance_spread")
SHUFFLED = "on shuffled patches"


def summarise_run(measure: Shape, run: RunView) -> dict[str, Any]:
    """A result per classifier and image set, what others decided, whose errors are alike, and paired differences."""
    said: dict[str, Any] = {"results": [], "deciders": [], "consistency": [], "people": [], "comparisons": []}
    said[BESIDE] = []
    warnings: list[str] = []
    decisions = together(measure.decisions)
    refuse_strangers(decisions, list(run.images.values()))
    family = comparisons(measure, run)
    for images, subject in run.images.items():
        labelled = bool((subject.labels >= 0).all())
        own = [classifier_decider(run, name, images) for name in run.classifiers]
        also = others(subject, decisions, list(run.classifiers)) if labelled else []
        if not labelled:
            warnings.append(
                f"whose errors are alike on {images!r} is left out: it needs labels, and some images have none"
            )
        shuffled = (
            {name: _per_image(run, name, images) for name in run.classifiers} if measure.shuffles(subject) else {}
        )
        for decider in own:
            said["results"].append(
                {"classifier": decider.name, "image_set": images}
                | _protocol(measure, run, subject)
                | _accuracy(measure, decider)
                | {
                    "shuffled": [
                        _shuffled(measure, run, decider, images, grid, shuffled[decider.name][grid])
                        for grid in (measure.grids if shuffled else ())
                    ],
                    "cue_conflict": _cue_conflict(measure, run, subject, decider),
                }
            )
        for decider in also:
            said["deciders"].append(
                {"name": decider.name, "sort": decider.sort, "image_set": images, "images": int(decider.seen.sum())}
                | _accuracy(measure, decider)
                | {"cue_conflict": _cue_conflict(measure, run, subject, decider)}
            )
        if labelled and shuffled:
            said[BESIDE] += _over_runs(measure, run, images)
        if labelled:
            pairs, people = _consistent(measure, run, images, subject, [*own, *also])
            said["consistency"] += pairs
            said["people"] += people
        said["comparisons"] += differences(measure, run, images, own, shuffled, family)
        warnings += _few_levels(images, subject)
    return said | {"warnings": warnings}


def _few_levels(images: str, subject: Subject) -> list[str]:
    """Stimuli that share very few shape or texture images leave a bootstrap little to draw from."""
    counts = {name: len(np.unique(subject.columns[name])) for name in SHARED if name in subject.columns}
    return [
        f"the stimuli of {images!r} share only {count} {name.replace('-', ' ')}{'' if count == 1 else 's'}: intervals "
        "of shape bias cover less often than they say"
        for name, count in counts.items()
        if count < FEW_LEVELS
    ]


def _protocol(measure: Shape, run: RunView, subject: Subject) -> dict[str, Any]:
    """How the numbers came about, which belongs to each of them."""
    return {
        "images": len(subject),
        "moves": measure.moves,
        "samples": measure.samples if measure.shuffles(subject) else 0,
        "resamples": measure.resamples,
        "confidence": measure.confidence,
        "seed": run.seed,
        "reference": "label" if bool((subject.labels >= 0).all()) else "clean prediction",
    }


def _accuracy(measure: Shape, decider: Decider) -> dict[str, Any]:
    right = decider.right[decider.seen > 0]
    bounds = betting_bounds(right, measure.confidence, planned=len(right))
    return {"accuracy_clean": float(right.mean()), "accuracy_clean_interval": list(bounds.pair())}


def _per_image(run: RunView, classifier: str, images: str) -> dict[int, Array]:
    """By grid, the share (M,) of each image's shuffles that are right."""
    subject, rows = run.images[images], run.table(run.cell(classifier, images))
    place, grids = subject.places(rows["image"].to_numpy()), rows["grid"].to_numpy()
    right = (rows["rank"].to_numpy() == 0).astype(np.float64)
    found = {}
    for grid in np.unique(grids).tolist():
        here = grids == grid
        counts = np.bincount(place[here], minlength=len(subject))
        found[grid] = np.bincount(place[here], right[here], len(subject)) / np.maximum(counts, 1)
    return found


def _shuffled(
    measure: Shape, run: RunView, decider: Decider, images: str, grid: int, per_image: Array
) -> dict[str, Any]:
    """Accuracy under one grid, what is lost beside the untouched images, and to which class the errors go."""
    planned, patches = len(per_image), grid**2
    accuracy = betting_bounds(per_image, measure.confidence, planned=planned)
    lost = betting_bounds(decider.right - per_image, measure.confidence, planned=planned, support=(-1.0, 1.0))
    return {
        "grid": grid,
        "accuracy": float(per_image.mean()),
        "accuracy_interval": list(accuracy.pair()),
        "points_lost": 100 * float((decider.right - per_image).mean()),
        "points_lost_interval": [100 * end for end in lost.pair()],
        "identity": 1 / math.factorial(patches) if measure.moves == "permutation" and patches <= 100 else 0.0,
        **_gathered(run, decider.name, images, grid),
    }


def _gathered(run: RunView, classifier: str, images: str, grid: int) -> dict[str, Any]:
    """Whether errors gather in one class: the DI index of this classifier alone (see the measure interference)."""
    told = in_short(run, classifier, [classifier], images, "", "", _part(grid))
    return {key: told[key] for key in GATHERED}


def _over_runs(measure: Shape, run: RunView, images: str) -> list[dict[str, Any]]:
    """The same over the runs of each model that has several."""
    several = [(group, names) for group, names in models(run) if len(names) > 1]
    return [
        in_short(run, group, names, images, "", SHUFFLED, _part(grid))
        for group, names in several
        for grid in measure.grids
    ]


def _part(grid: int) -> Part:
    return Part(f"{grid}×{grid} patches", "grid", grid)


def _cue_conflict(measure: Shape, run: RunView, subject: Subject, decider: Decider) -> dict[str, Any] | None:
    """Shape and texture accuracy over all stimuli that were decided on, shape bias over those in conflict."""
    here = textures(subject)
    if here is None:
        return None
    conflict = decider.seen * (here != subject.labels)
    classes = np.unique(subject.labels)
    of_class = (subject.labels == classes[:, None]).astype(np.float64)  # (K, n)
    columns = np.vstack([decider.seen, decider.right * decider.seen, decider.texture * decider.seen])
    answers = np.vstack([decider.right * conflict, decider.texture * conflict])

    def statistic(weights: Array) -> Array:
        """(D, 3 + K): both accuracies, shape bias, and shape bias by shape."""
        seen, shape, texture = weights @ columns.T[:, 0], weights @ columns.T[:, 1], weights @ columns.T[:, 2]
        with np.errstate(invalid="ignore", divide="ignore"):
            accuracies = np.stack([shape / seen, texture / seen], 1)
            one, other = (weights @ (answers[place] * of_class).T for place in (0, 1))
            whole = one.sum(1) / (one.sum(1) + other.sum(1))
            return np.hstack([accuracies, whole[:, None], one / (one + other)])

    exact = statistic(np.ones((1, len(subject))))[0]
    shared = factors(subject)
    drawn = resampled(statistic, len(subject), shared, measure.resamples, run.seed)
    value = [None if math.isnan(each) else float(each) for each in exact]
    decided = answers.sum(0)
    of_each = np.vstack([decider.seen, decider.seen, decided, decided * of_class])  # which stimuli each number is of
    bounds = [
        share_interval(float(one), draws, shared, among, measure.confidence)
        for one, draws, among in zip(exact, drawn.T, of_each, strict=True)
    ]
    pair = [None if each is None else list(each) for each in bounds]
    by_class = answers @ of_class.T  # (2, K)
    return {
        "stimuli": int(decider.seen.sum()),
        "in_conflict": int(conflict.sum()),
        "shape_accuracy": value[0],
        "shape_accuracy_interval": pair[0],
        "texture_accuracy": value[1],
        "texture_accuracy_interval": pair[1],
        "shape_answers": int(answers[0].sum()),
        "texture_answers": int(answers[1].sum()),
        "shape_bias": value[2],
        "shape_bias_interval": pair[2],
        "per_class": [
            {
                "class": subject.class_name(int(label)),
                "in_conflict": int((conflict * of_class[place]).sum()),
                "shape_answers": int(by_class[0, place]),
                "texture_answers": int(by_class[1, place]),
                "shape_bias": value[3 + place],
                "shape_bias_interval": pair[3 + place],
            }
            for place, label in enumerate(classes.tolist())
        ],
    }


def _consistent(
    measure: Shape, run: RunView, images: str, subject: Subject, deciders: list[Decider]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Cohen's κ of every pair, and of each classifier with people on average."""
    if len(deciders) < 2:
        return [], []
    right, seen = np.stack([each.right for each in deciders]), np.stack([each.seen for each in deciders])
    pairs = np.array(list(itertools.combinations(range(len(deciders)), 2)))
    exact = consistency(right, seen, pairs)
    shared = factors(subject)
    if shared or any(each.sort != CLASSIFIER for each in deciders):
        drawn = redrawn_together(right, seen, pairs, shared, measure.resamples, run.seed)
    else:
        drawn = redrawn(right, pairs, measure.resamples, run.seed)
    found = []
    for place, (first, second) in enumerate(pairs.tolist()):
        kappa = float(exact.kappa[place])
        bounds = interval(kappa, drawn[:, place], measure.confidence)
        found.append(
            {
                "first": deciders[first].name,
                "second": deciders[second].name,
                "image_set": images,
                "images": int(exact.images[place]),
                "observed": _plain(exact.observed[place]),
                "expected": _plain(exact.expected[place]),
                "kappa": _plain(kappa),
                "interval": None if bounds is None else list(bounds),
                "confidence": measure.confidence,
            }
        )
    return found, _with_people(measure, images, deciders, pairs, exact.kappa, drawn)


def _with_people(
    measure: Shape, images: str, deciders: list[Decider], pairs: NDArray[np.int64], kappa: Array, drawn: Array
) -> list[dict[str, Any]]:
    """The mean κ of each classifier with all people, and of people with one another."""
    people = np.array([each.sort == PERSON for each in deciders])
    if not people.any():
        return []
    found = []
    for place in [place for place, each in enumerate(deciders) if each.sort == CLASSIFIER] + [-1]:
        ours = people[pairs].all(1) if place < 0 else ((pairs == place).any(1) & people[pairs].any(1))
        ours &= ~np.isnan(kappa)
        if not ours.any():
            continue
        mean = float(kappa[ours].mean())
        bounds = interval(mean, drawn[:, ours].mean(1), measure.confidence)
        found.append(
            {
                "decider": "people" if place < 0 else deciders[place].name,
                "image_set": images,
                "people": int(people.sum()),
                "kappa": mean,
                "interval": None if bounds is None else list(bounds),
            }
        )
    return found


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
