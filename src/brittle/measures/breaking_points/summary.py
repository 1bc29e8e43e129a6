"""What breaking points say: restricted means, medians and shares with intervals, over two sets of images.

Means are over a classifier's own correct images, and over those that all classifiers of the study get right;
differences of two are over the images that both get right, whatever other classifiers there are. A path that never
broke counts with the limit in the mean, which is then a restricted one: of min(breaking point, limit).
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from brittle.measures.arrays import Array, Mask, probability
from brittle.measures.base import ClassifierFacts, ImageSetFacts, RunView, pairs_of, two_by_two
from brittle.measures.clean.measure import clean_columns
from brittle.measures.folds import ImageValues
from brittle.measures.frontier import answers_needed
from brittle.measures.severities import WHITE, Severities
from brittle.statistics.estimate import mean
from brittle.statistics.intervals import simultaneous
from brittle.statistics.selective import auroc, risk_coverage
from brittle.statistics.survival import named_median, survival
from brittle.types import Clipped

if TYPE_CHECKING:
    from brittle.measures.breaking_points.measure import BreakingPoints

CURVE_POINTS = 128
MOST_FLOWS = 20


class PointsOfClassifier(NamedTuple):
    """The breaking points of one classifier: M images × R paths."""

    value: Array  # (M, R); the last value of the grid where a path did not break
    broke: Mask  # (M, R)
    predicted: NDArray[np.integer[Any]]  # (M, R)
    p_star: Array  # (M, R) probability of the label at the break
    base: NDArray[np.int64]  # (M,) clean prediction
    p_clean: Array  # (M,) its probability
    right: Mask  # (M,) whether it is the label
    calls: int


def points_of(
    measure: BreakingPoints, run: RunView, classifier: str, images: str, nuisance: str, grid: Severities
) -> PointsOfClassifier:
    """What is found of a cell as arrays, images in planned order."""
    found: ImageValues = run.fold(run.cell(classifier, images, nuisance)).compute()
    clean = clean_columns(run, classifier, images)
    needed = answers_needed(len(grid.values), halving=measure.search == "bisect")
    end = np.where(found["broke"], found["place"], len(grid.values))[found.seen].astype(np.int64)
    return PointsOfClassifier(
        np.where(found.seen, np.array(grid.values)[found["place"].astype(np.int64)], 0),
        found["broke"].astype(bool),
        found["predicted"],
        np.where(found.seen, probability(found["log_p_predicted"]), 0),
        clean["predicted"].astype(np.int64),
        probability(clean["log_p_predicted"]),
        clean["rank"] == 0,
        int(needed[end].sum()),
    )


def path_values(subject: ImageSetFacts, repeats: int) -> ImageValues:
    """14 bytes per image and path."""
    kept = "place", "broke", "predicted", "log_p_predicted"

    def of(rows: pa.Table) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        return rows["repeat"].to_numpy(), {name: rows[name].to_numpy() for name in kept}

    return ImageValues(subject, repeats, of)


def summarise_run(measure: BreakingPoints, run: RunView) -> dict[str, Any]:
    """A result per classifier, image set and nuisance, paired differences, and the calls that were really made."""
    results, comparisons, warnings, calls = [], [], list[str](), dict.fromkeys(run.classifiers, 0)
    together, count = pairs_of(run), len(run.classifiers)
    family = len(together) * max(1, math.comb(count, 2))
    for images, nuisance in together:
        grid = measure.grid(run.about(run.cell(next(iter(run.classifiers)), images, nuisance)))
        found = {name: points_of(measure, run, name, images, nuisance, grid) for name in run.classifiers}
        common = np.logical_and.reduce([each.right for each in found.values()])
        names = {"image_set": images, "nuisance": nuisance}
        for name, points in found.items():
            calls[name] += points.calls
            if not points.right.any():
                warnings.append(
                    f"none of the {len(points.right)} images of {images!r} is classified correctly by {name!r}: no "
                    "breaking point is averaged; check range, mean, std and channels, and the order of the labels"
                )
            facts = run.classifiers[name].with_class_names_of(run.images[images])
            results.append(
                {"classifier": name, **names}
                | _protocol(measure, run, images, nuisance, grid)
                | _one(measure, points, common if count > 1 else None, grid, facts)
            )
        for pair, one, other in two_by_two(found):
            apart = _difference(one, other, simultaneous(measure.confidence, family), grid)
            comparisons.append(pair | names | {"confidence": measure.confidence, "family": family} | apart)
    return {"results": results, "comparisons": comparisons, "warnings": warnings, "calls": calls}


def _protocol(measure: BreakingPoints, run: RunView, images: str, nuisance: str, grid: Severities) -> dict[str, Any]:
    """How the numbers came about, which belongs to each of them."""
    space = run.nuisances[nuisance]
    return {
        "noise": measure.noise,
        "search": measure.search,
        "step": grid.step,
        "limit": grid.end,
        "unit": grid.unit,
        "of_255": grid.of_255,
        "clipped": space.clipped if isinstance(space, Clipped) else None,
        "repeats": measure.repeats,
        "confidence": measure.confidence,
        "seed": run.seed,
        "reference": run.images[images].reference,
    }


def _one(
    measure: BreakingPoints,
    points: PointsOfClassifier,
    common: Mask | None,
    grid: Severities,
    classifier: ClassifierFacts,
) -> dict[str, Any]:
    own, confidence = points.right, measure.confidence
    return {
        "images": len(own),
        "correct": int(own.sum()),
        "calls": points.calls,
        **averages(points, own, grid, confidence),
        "common": None if common is None else averages(points, common, grid, confidence),
        "as_confidence": _as_confidence(points, confidence),
        "flows": _flows(points, classifier),
        "survival": _curve(points, own, grid, confidence),
    }


def averages(points: PointsOfClassifier, chosen: Mask, grid: Severities, confidence: float) -> dict[str, Any]:
    """Over some images, each the mean of its paths. The median is of the images' first paths."""
    value, broke = points.value[chosen], points.broke[chosen]
    count, broken = len(value), broke.any(1)
    p_star = (points.p_star[chosen] * broke).sum(1)[broken] / broke.sum(1)[broken]
    restricted = mean(value.mean(1), confidence, support=(0.0, grid.end))
    several = count and value.shape[1] > 1
    return {
        "averaged": count,
        **restricted.named("mean", "interval"),
        **restricted.scaled(100 / WHITE if grid.of_255 else math.nan).named("percent"),
        **mean(1 - broke.mean(1), confidence).named("unbroken"),
        **named_median("median", np.where(broke[:, 0], value[:, 0], np.inf), confidence),
        **mean(p_star, confidence, planned=count).named("p_star"),
        "spread": float(value.mean(1).std(ddof=1)) if count > 1 else None,
        "spread_of_repeats": float(np.sqrt(value.var(1, ddof=1).mean())) if several else None,
    }


def _as_confidence(points: PointsOfClassifier, confidence: float) -> dict[str, Any]:
    """How well the breaking point tells errors from right answers, beside the greatest probability: wrong images are
    measured too."""
    said: dict[str, Any] = {"errors": int((~points.right).sum())}
    for name, score in (("breaking_point", points.value.mean(1)), ("softmax", points.p_clean)):
        found = auroc(score, ~points.right, confidence)
        said |= found.named(f"{name}_auroc")
        said[f"{name}_risk_area"] = None if math.isnan(found.value) else risk_coverage(score, ~points.right).area
    return said


def _flows(points: PointsOfClassifier, classifier: ClassifierFacts) -> list[dict[str, Any]]:
    """From which label to which, over the paths of correct images that broke."""
    broke = points.broke & points.right[:, None]
    sources = np.broadcast_to(points.base[:, None], broke.shape)[broke].tolist()
    counted = Counter(zip(sources, points.predicted[broke].tolist(), strict=True))
    total = max(1, sum(counted.values()))
    return [
        {"from": classifier.labels[a], "to": classifier.labels[b], "paths": count, "share": count / total}
        for (a, b), count in sorted(counted.items(), key=lambda each: (-each[1], each[0]))[:MOST_FLOWS]
    ]


def _curve(points: PointsOfClassifier, chosen: Mask, grid: Severities, confidence: float) -> dict[str, list[float]]:
    """The share of paths that are still whole after each value, at no more values than a figure can show. At 0 all are,
    by definition."""
    value, broke = points.value[chosen], points.broke[chosen]
    at = np.array((0.0, *grid.values))[:: max(1, len(grid.values) // CURVE_POINTS)]
    if not len(value):
        return {"values": at.tolist(), "share": [], "low": [], "high": []}
    curve = survival(value, broke, at[1:], confidence)
    return {"values": at.tolist()} | {name: [1.0, *each.tolist()] for name, each in curve._asdict().items()}


def _difference(
    first: PointsOfClassifier, second: PointsOfClassifier, confidence: float, grid: Severities
) -> dict[str, Any]:
    """First minus second over the images that both get right."""
    both = first.right & second.right
    apart = first.value[both].mean(1) - second.value[both].mean(1)
    found = mean(apart, confidence, support=(-grid.end, grid.end))
    return {"images": len(apart), "better": found.favours()} | found.named("difference", "interval")
