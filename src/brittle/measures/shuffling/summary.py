"""What is said of shuffled patches: accuracy with intervals, what is lost, where errors go, and paired differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from brittle.measures.arrays import Array
from brittle.measures.base import ImageSetFacts, RunView, two_by_two
from brittle.measures.clean.measure import clean_right
from brittle.measures.distortion import INTERFERENCE_KEY, DistortionPart, interference_row, models
from brittle.measures.folds import ImageSums
from brittle.measures.shuffling.options import ShufflingOptions
from brittle.statistics.estimate import mean
from brittle.statistics.intervals import simultaneous

GATHERED = ("di", "top_class", "tied_classes", "points_to_top", "points_by_chance", "chance_spread")
SHUFFLED = "on shuffled patches"


def summarise_shuffling(options: ShufflingOptions, run: RunView) -> dict[str, Any]:
    """A result per classifier and image set, with all grids; paired differences, which hold at once."""
    said: dict[str, Any] = {"results": [], "comparisons": [], INTERFERENCE_KEY: []}
    family = math.comb(len(run.classifiers), 2) * len(options.grids) * len(run.images)
    for images, subject in run.images.items():
        right = {name: clean_right(run, name, images).astype(np.float64) for name in run.classifiers}
        shuffled = {name: _by_grid(run, name, images, options.grids) for name in run.classifiers}
        for name in run.classifiers:
            said["results"].append(
                {
                    "classifier": name,
                    "image_set": images,
                    "images": len(subject),
                    "moves": options.moves,
                    "samples": options.samples,
                    "confidence": options.confidence,
                    "seed": run.seed,
                    "reference": subject.reference,
                    **mean(right[name], options.confidence).named("accuracy_clean"),
                    "shuffled": [
                        _shuffled(options, grid, right[name], shuffled[name][grid])
                        | _interference_of(run, name, images, grid)
                        for grid in options.grids
                    ],
                }
            )
        if subject.labelled:
            said[INTERFERENCE_KEY] += _over_runs(options, run, images)
        for names, one, other in two_by_two(shuffled):
            about = names | {"image_set": images, "confidence": options.confidence, "family": family}
            said["comparisons"] += [
                about | _apart(grid, one[grid] - other[grid], simultaneous(options.confidence, family))
                for grid in options.grids
            ]
    return said


def _by_grid(run: RunView, classifier: str, images: str, grids: Sequence[int]) -> dict[int, Array]:
    """The share (M,) of each image's shuffles that are right."""
    found: ImageSums = run.fold(run.cell(classifier, images)).compute()
    return {grid: found.mean("right", number) for number, grid in enumerate(grids)}


def sums_by_grid(subject: ImageSetFacts, grids: Sequence[int]) -> ImageSums:
    """Right answers, summed over an image's shuffles."""
    number = np.zeros(max(grids, default=0) + 1, np.int64)
    number[list(grids)] = np.arange(len(grids))

    def of(rows: pa.Table) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        return number[rows["grid"].to_numpy()], {"right": rows["rank"].to_numpy() == 0}

    return ImageSums(subject, len(grids), of)


def _shuffled(options: ShufflingOptions, grid: int, right: Array, shares: Array) -> dict[str, Any]:
    """Accuracy under one grid, and what is lost beside the untouched images."""
    patches, lost = grid**2, mean(right - shares, options.confidence, support=(-1.0, 1.0))
    return {
        "grid": grid,
        **mean(shares, options.confidence).named("accuracy"),
        **lost.scaled(100).named("points_lost"),
        "identity": 1 / math.factorial(patches) if options.moves == "permutation" and patches <= 100 else 0.0,
    }


def _apart(grid: int, apart: Array, confidence: float) -> dict[str, Any]:
    """First minus second under one grid, paired over images."""
    found = mean(apart, confidence, support=(-1.0, 1.0))
    return {"grid": grid, "images": len(apart), "larger": found.favours()} | found.named("difference", "interval")


def _interference_of(run: RunView, classifier: str, images: str, grid: int) -> dict[str, Any]:
    """Whether errors gather in one class: the DI index of this classifier alone (see the measure interference)."""
    told = interference_row(run, classifier, [classifier], images, "", "", _part(grid))
    return {key: told[key] for key in GATHERED}


def _over_runs(options: ShufflingOptions, run: RunView, images: str) -> list[dict[str, Any]]:
    """The same over the runs of each model that has several."""
    several = [(group, names) for group, names in models(run) if len(names) > 1]
    return [
        interference_row(run, group, names, images, "", SHUFFLED, _part(grid))
        for group, names in several
        for grid in options.grids
    ]


def _part(grid: int) -> DistortionPart:
    return DistortionPart(f"{grid}×{grid} patches", "grid", grid)
