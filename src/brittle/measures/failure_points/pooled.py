"""Averages over several nuisances: drops average over images, all nuisances pooled.

An image under each nuisance is one picture at severity 0 and shares its label: it is one cluster, whose values are
averaged first. Where an image is followed under some nuisances only, every path counts once, and the interval is that
of a ratio of two sums over images.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from brittle.measures.arrays import Array
from brittle.measures.base import RunView
from brittle.measures.failure_points.trajectories import Trajectories
from brittle.statistics.betting_ratio import ratio_of_sums

if TYPE_CHECKING:
    from brittle.measures.failure_points.measure import FailurePoints


def pooled(
    measure: FailurePoints, run: RunView, images: str, under: Mapping[str, Mapping[str, Trajectories]]
) -> list[dict[str, Any]]:
    """Per classifier, over all nuisances of an image set; none where there is one, paths end at failures, or there is
    no severity 0."""
    whole = all(paths.whole and paths.origin for found in under.values() for paths in found.values())
    if len(under) < 2 or not whole:
        return []
    grids = [measure.grid(run.about(run.cell(next(iter(run.classifiers)), images, nuisance))) for nuisance in under]
    alike = all(grid[0] == grids[0][0] and grid.unit == grids[0].unit for grid in grids)
    found = []
    for name in run.classifiers:
        drops = {nuisance: _drops(each[name]) for nuisance, each in under.items()}
        places = {nuisance: each[name].places for nuisance, each in under.items()}
        count = len(run.images[images])
        said: dict[str, Any] = {
            "classifier": name,
            "image_set": images,
            "nuisances": list(under),
            "confidence": measure.confidence,
            "unit": grids[0].unit if alike else None,
            **over_images({key: values.mean(1) for key, values in drops.items()}, places, count, measure.confidence),
        }
        said["severities"] = [
            {"value": value}
            | over_images({key: values[:, place] for key, values in drops.items()}, places, count, measure.confidence)
            for place, value in enumerate(grids[0].values if alike else ())
        ]
        found.append(said)
    return found


def _drops(paths: Trajectories) -> Array:
    """(M, K) A₀ − Aₛ of each image, averaged over its paths."""
    wrong = paths.wrong.mean(1)
    drops: Array = wrong[:, 1:] - wrong[:, :1]
    return drops


def over_images(
    drops: Mapping[str, Array], places: Mapping[str, NDArray[np.int64]], count: int, confidence: float
) -> dict[str, Any]:
    """The mean over every path of every nuisance; `drops` (M,) are of the images at `places` among `count`."""
    total, weight = np.zeros(count), np.zeros(count)
    for name, values in drops.items():
        total[places[name]] += values
        weight[places[name]] += 1
    there = weight > 0
    found = ratio_of_sums(total[there], weight[there], confidence, support=(-1.0, 1.0))
    return found.named("drop")
