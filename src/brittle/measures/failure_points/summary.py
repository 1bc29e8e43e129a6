"""What failure points say: per classifier, image set and nuisance, between classifiers, and over several nuisances.

Failure points are averaged over the images that are right at severity 0; those that are wrong there are counted apart.
Differences of two classifiers are over the images that both get right there, whatever other classifiers there are.
Where there are no images at 0, all of them are averaged over, and nothing is said of drops.
A path that never fails counts with the last severity, so that the mean is a restricted one. Intervals are over images,
each of which is one value however many paths and nuisances it was followed along.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from brittle.measures.arrays import Array
from brittle.measures.base import ClassifierFacts, RunView, pairs_of, two_by_two
from brittle.measures.failure_points.curve import class_map, curve, failure_labels
from brittle.measures.failure_points.pooled import pooled
from brittle.measures.failure_points.trajectories import NARROWED, REFINED, Trajectories, trajectories
from brittle.measures.severities import Severities, followable
from brittle.statistics.estimate import mean
from brittle.statistics.intervals import simultaneous
from brittle.statistics.survival import named_median

if TYPE_CHECKING:
    from brittle.measures.failure_points.measure import FailurePoints


NOTHING = pa.table({name: np.zeros(0, np.int64) for name in NARROWED})


class NarrowedPoints(NamedTuple):
    """Failure points between two severities of the grid, as they are reported."""

    point: Array  # (M, R) the upper end, at which the image is wrong; NaN where nothing was narrowed
    width: float  # of the widest bracket
    calls: int


def summarise_run(measure: FailurePoints, run: RunView) -> dict[str, Any]:
    """A result per classifier, image set and nuisance; paired differences; averages over several nuisances."""
    results, comparisons, averages = [], [], []
    warnings, calls = list[str](), dict.fromkeys(run.classifiers, 0)
    together, count = pairs_of(run), len(run.classifiers)
    family = max(1, sum(math.comb(count, 2) * _claims(measure, run, images) for images, _ in together))
    for images in run.images:
        under: dict[str, dict[str, Trajectories]] = {}
        for nuisance in (name for own, name in together if own == images):
            grid = measure.grid(run.about(run.cell(next(iter(run.classifiers)), images, nuisance)))
            found = {name: trajectories(run, name, images, nuisance) for name in run.classifiers}
            under[nuisance] = found
            warnings += _unlabelled(run, images)
            names = {"image_set": images, "nuisance": nuisance}
            rows = [
                {"classifier": name, **names}
                | _protocol(measure, run, grid)
                | _one(measure, run, name, images, nuisance, paths, grid)
                for name, paths in found.items()
            ]
            results += rows
            warnings += [_all_wrong(row) for row in rows if row["images"] and row["correct"] == 0]
            for row in rows:
                calls[row["classifier"]] += row["calls"]
            comparisons += [names | pair for pair in _compared(found, grid, measure.confidence, family)]
        averages += pooled(measure, run, images, under)
    return {
        "results": results,
        "comparisons": comparisons,
        "pooled": averages,
        "warnings": list(dict.fromkeys(warnings)),
        "calls": calls,
    }


def _claims(measure: FailurePoints, run: RunView, images: str) -> int:
    """Differences that are reported for a pair of classifiers: of failure points, and of drops where these are
    known."""
    return 2 if measure.only is None and run.images[images].origin else 1


def _unlabelled(run: RunView, images: str) -> list[str]:
    subject = run.images[images]
    without = int((subject.labels < 0).sum())
    if not without:
        return []
    return [f"{without} of the {len(subject)} images of {images!r} have no label: no failure point is sought"]


def _incomplete(run: RunView, images: str, nuisance: str) -> int:
    """Images with a label that are not stored at every scale; the image set has named them already."""
    subject = run.images[images]
    return int((~followable(run.nuisances[nuisance], subject.ids)[subject.labels >= 0]).sum())


def _all_wrong(row: Mapping[str, Any]) -> str:
    return (
        f"none of the {row['images']} images of {row['image_set']!r} is classified correctly by {row['classifier']!r}: "
        "no failure point is averaged; check range, mean, std and channels, and the order of the labels"
    )


def _protocol(measure: FailurePoints, run: RunView, grid: Severities) -> dict[str, Any]:
    """How the numbers came about, which belongs to each of them."""
    return {
        "unit": grid.unit,
        "limit": grid.end,
        "only": measure.only,
        "repeats": measure.repeats,
        "confidence": measure.confidence,
        "seed": run.seed,
    }


def _one(
    measure: FailurePoints,
    run: RunView,
    classifier: str,
    images: str,
    nuisance: str,
    paths: Trajectories,
    grid: Severities,
) -> dict[str, Any]:
    first, count = paths.first, len(grid.values)
    right = ~paths.wrong[:, 0, 0]
    rows = int(paths.seen[..., 1:].sum())
    refined = _narrowed(run, classifier, images, nuisance, paths, grid) if measure.tolerance is not None else None
    whole = paths.whole
    # A path that ended at its first failure was not looked at further: it is not known whether it would have come back.
    recovered = paths.recovered
    facts = run.classifiers[classifier].with_class_names_of(run.images[images])
    return {
        "images": len(first),
        "incomplete": _incomplete(run, images, nuisance),
        "paths": first.size,
        "wrong_at_0": int((~right).sum()) if paths.origin else None,
        **mean((first > count).mean(1), measure.confidence).named("never"),
        "recovered": int(recovered.sum()) if whole else None,
        "recovered_share": float(recovered.mean()) if whole and recovered.size else None,
        "correct": int(right.sum()) if paths.origin else None,
        **points(_values(grid)[first[right]], grid.end, measure.confidence),
        "refined": None if refined is None else _refined(measure, refined, first, right, grid),
        "calls": rows + (0 if refined is None else refined.calls),
        "calls_saved": first.size * count - rows,
        "falls": _failure_labels(paths, facts),
        "severities": curve(paths, grid, facts, measure.confidence),
        "classes": class_map(paths, run.images[images]),
    }


def _failure_labels(paths: Trajectories, classifier: ClassifierFacts) -> list[dict[str, Any]]:
    """The labels that images fall into where they fail first, above severity 0."""
    first = paths.first
    image, path = ((first > 0) & (first < paths.wrong.shape[-1])).nonzero()
    return failure_labels(paths.predicted[image, path, first[image, path]], classifier)


def points(found: Array, end: float, confidence: float) -> dict[str, Any]:
    """Of failure points (n, R), ∞ where there is none: their restricted mean, and the median of the images' first
    paths, which are independent; None lies beyond the last severity."""
    restricted = mean(np.minimum(found, end).mean(1), confidence, support=(0.0, end))
    return restricted.named("mean") | named_median("median", found[:, 0], confidence)


def _narrowed(
    run: RunView, classifier: str, images: str, nuisance: str, paths: Trajectories, grid: Severities
) -> NarrowedPoints:
    kept = run.fold(run.cell(classifier, images, nuisance)).compute()[REFINED]
    rows, subject = kept.get(REFINED, NOTHING), run.images[images]
    own = np.full(len(subject), -1)
    own[paths.places] = np.arange(len(paths.places))
    point = np.full(paths.first.shape, np.nan)
    low, high = (grid.per_severity * rows[name].to_numpy().astype(np.float64) for name in ("low", "high"))
    point[own[subject.places(rows["image"].to_numpy())], rows["repeat"].to_numpy()] = high
    return NarrowedPoints(point, float((high - low).max(initial=0.0)), int(rows["calls"].to_numpy().sum()))


def _refined(
    measure: FailurePoints, found: NarrowedPoints, first: NDArray[np.int64], right: NDArray[np.bool_], grid: Severities
) -> dict[str, Any]:
    """The same from narrowed failure points; each is *a* crossing in its bracket, not necessarily the first."""
    values = np.where(first > len(grid.values), np.inf, found.point)[right]
    return {
        "tolerance": measure.tolerance,
        "width": found.width,
        "calls": found.calls,
        **points(values, grid.end, measure.confidence),
    }


def _values(grid: Severities) -> Array:
    """(2 + K,) the severity of each place at which a path may first fail: ∞ where it never does."""
    return np.array([0.0, *grid.values, np.inf])


def _compared(found: dict[str, Trajectories], grid: Severities, confidence: float, family: int) -> list[dict[str, Any]]:
    """First minus second of every pair: failure points over the images that both get right at 0, or over all where
    there is no 0, and, where paths are followed to the end, drops averaged over the severities above 0 over all
    images."""
    together, compared = simultaneous(confidence, family), []
    for names, one, other in two_by_two(found):
        both = ~(one.wrong[:, 0, 0] | other.wrong[:, 0, 0])
        mine, theirs = (np.minimum(_values(grid)[each.first[both]], grid.end).mean(1) for each in (one, other))
        later = mean(mine - theirs, together, support=(-grid.end, grid.end))
        less = mean(_drop(one) - _drop(other), together, support=(-2.0, 2.0))
        compared.append(
            names
            | {"confidence": confidence, "family": family, "images": int(both.sum()), "better": later.favours()}
            | later.named("difference", "interval")
            | less.named("drop_difference", "drop_interval")
            | {"drop_better": less.favours(less=True)}
        )
    return compared


def _drop(paths: Trajectories) -> Array:
    """(M,) A₀ − Aₛ of each image, averaged over its paths and the severities above 0, where all of that is known."""
    if not (paths.whole and paths.origin):
        return np.zeros(0)
    drop: Array = (paths.wrong[..., 1:].mean((1, 2)) - paths.wrong[..., 0].mean(1)).astype(np.float64)
    return drop
