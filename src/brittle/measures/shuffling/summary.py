"""What is said of shuffled patches: accuracy with intervals, what is lost, where errors go, and paired differences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from brittle.measures.base import RunView
from brittle.measures.clean.measure import clean_columns
from brittle.measures.distortion import BESIDE, Part, in_short, models
from brittle.statistics.intervals import betting_bounds, simultaneous

if TYPE_CHECKING:
    from brittle.measures.shuffling.measure import Shuffling

Array = NDArray[np.float64]
GATHERED = ("di", "top_class", "tied_classes", "points_to_top", "points_by_chance", "chance_spread")
SHUFFLED = "on shuffled patches"


def summarise_shuffling(measure: Shuffling, run: RunView) -> dict[str, Any]:
    """A result per classifier and image set, with all grids; paired differences, which hold at once."""
    said: dict[str, Any] = {"results": [], "comparisons": [], BESIDE: []}
    pairs = len(run.classifiers) * (len(run.classifiers) - 1) // 2
    family = pairs * len(measure.grids) * len(run.images)
    for images, subject in run.images.items():
        labelled = bool((subject.labels >= 0).all())
        right = {name: _right(run, name, images) for name in run.classifiers}
        shuffled = {name: _per_image(run, name, images) for name in run.classifiers}
        for name in run.classifiers:
            clean = betting_bounds(right[name], measure.confidence, planned=len(subject))
            said["results"].append(
                {
                    "classifier": name,
                    "image_set": images,
                    "images": len(subject),
                    "moves": measure.moves,
                    "samples": measure.samples,
                    "confidence": measure.confidence,
                    "seed": run.seed,
                    "reference": "label" if labelled else "clean prediction",
                    "accuracy_clean": float(right[name].mean()),
                    "accuracy_clean_interval": list(clean.pair()),
                    "shuffled": [
                        _shuffled(measure, grid, right[name], shuffled[name][grid]) | _gathered(run, name, images, grid)
                        for grid in measure.grids
                    ],
                }
            )
        if labelled:
            said[BESIDE] += _over_runs(measure, run, images)
        said["comparisons"] += _differences(measure, images, shuffled, family)
    return said


def _right(run: RunView, classifier: str, images: str) -> Array:
    """(M,) 1 where the untouched image is classified correctly."""
    return np.asarray(clean_columns(run, classifier, images)["rank"] == 0, np.float64)


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


def _shuffled(measure: Shuffling, grid: int, right: Array, per_image: Array) -> dict[str, Any]:
    """Accuracy under one grid, and what is lost beside the untouched images."""
    planned, patches = len(per_image), grid**2
    accuracy = betting_bounds(per_image, measure.confidence, planned=planned)
    lost = betting_bounds(right - per_image, measure.confidence, planned=planned, support=(-1.0, 1.0))
    return {
        "grid": grid,
        "accuracy": float(per_image.mean()),
        "accuracy_interval": list(accuracy.pair()),
        "points_lost": 100 * float((right - per_image).mean()),
        "points_lost_interval": [100 * end for end in lost.pair()],
        "identity": 1 / math.factorial(patches) if measure.moves == "permutation" and patches <= 100 else 0.0,
    }


def _gathered(run: RunView, classifier: str, images: str, grid: int) -> dict[str, Any]:
    """Whether errors gather in one class: the DI index of this classifier alone (see the measure interference)."""
    told = in_short(run, classifier, [classifier], images, "", "", _part(grid))
    return {key: told[key] for key in GATHERED}


def _over_runs(measure: Shuffling, run: RunView, images: str) -> list[dict[str, Any]]:
    """The same over the runs of each model that has several."""
    several = [(group, names) for group, names in models(run) if len(names) > 1]
    return [
        in_short(run, group, names, images, "", SHUFFLED, _part(grid))
        for group, names in several
        for grid in measure.grids
    ]


def _part(grid: int) -> Part:
    return Part(f"{grid}×{grid} patches", "grid", grid)


def _differences(
    measure: Shuffling, images: str, shuffled: Mapping[str, Mapping[int, Array]], family: int
) -> list[dict[str, Any]]:
    """First minus second, of every pair of classifiers under every grid, paired over images."""
    if len(shuffled) < 2:
        return []
    found, confidence = [], simultaneous(measure.confidence, family)
    for first, second in itertools.combinations(shuffled, 2):
        for grid in measure.grids:
            apart = shuffled[first][grid] - shuffled[second][grid]
            low, high = betting_bounds(apart, confidence, planned=len(apart), support=(-1.0, 1.0)).pair()
            found.append(
                {
                    "first": first,
                    "second": second,
                    "image_set": images,
                    "confidence": measure.confidence,
                    "family": family,
                    "grid": grid,
                    "difference": float(apart.mean()),
                    "interval": [low, high],
                    "larger": "first" if low > 0 else "second" if high < 0 else "tie",
                    "images": len(apart),
                }
            )
    return found
