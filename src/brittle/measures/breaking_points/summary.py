"""What breaking points say: restricted means, medians and shares with intervals, over two sets of images.

Means are over a classifier's own correct images, and over those that all classifiers of the study get right;
differences of two are over the images that both get right, whatever other classifiers there are. A path that never
broke counts with the limit in the mean, which is then a restricted one: of min(breaking point, limit).
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.measures.base import ClassifierFacts, RunView, pairs_of
from brittle.measures.clean.measure import clean_columns
from brittle.measures.severities import WHITE, Severities
from brittle.statistics.intervals import betting_bounds, simultaneous
from brittle.statistics.selective import auroc, risk_coverage
from brittle.statistics.survival import median_interval, survival
from brittle.types import Clipped

if TYPE_CHECKING:
    from brittle.measures.breaking_points.measure import BreakingPoints

Array = NDArray[np.float64]
CURVE_POINTS = 128
MOST_FLOWS = 20
AVERAGES = (
    *("mean", "interval", "percent", "percent_interval", "unbroken", "unbroken_interval", "median", "median_interval"),
    *("p_star", "p_star_interval", "spread", "spread_of_repeats"),
)


class Points(NamedTuple):
    """The breaking points of one classifier: M images × R paths."""

    value: Array  # (M, R); the last value of the grid where a path did not break
    broke: NDArray[np.bool_]  # (M, R)
    predicted: NDArray[np.int64]  # (M, R)
    p_star: Array  # (M, R) probability of the label at the break
    base: NDArray[np.int64]  # (M,) clean prediction
    p_clean: Array  # (M,) its probability
    right: NDArray[np.bool_]  # (M,) whether it is the label
    calls: int


def points_of(run: RunView, classifier: str, images: str, nuisance: str, grid: Severities) -> Points:
    """All rows of a cell as arrays, images in planned order."""
    subject, rows = run.images[images], run.table(run.cell(classifier, images, nuisance))
    place, repeat = subject.places(rows["image"].to_numpy()), rows["repeat"].to_numpy()
    shape = (len(subject), int(repeat.max(initial=0)) + 1)

    def spread(values: NDArray[Any]) -> NDArray[Any]:
        made = np.zeros(shape, values.dtype)
        made[place, repeat] = values
        return made

    clean = clean_columns(run, classifier, images)
    places = rows["place"].to_numpy()
    return Points(
        spread(np.array(grid.values)[places]),
        spread(rows["broke"].to_numpy(zero_copy_only=False)),
        spread(rows["predicted"].to_numpy().astype(np.int64)),
        spread(np.exp(rows["log_p_predicted"].to_numpy().astype(np.float64))),
        clean["predicted"].astype(np.int64),
        np.exp(clean["log_p_predicted"].astype(np.float64)),
        clean["rank"] == 0,
        int((places + 1).sum()),
    )


def summarise_run(measure: BreakingPoints, run: RunView) -> dict[str, Any]:
    """A result per classifier, image set and nuisance, paired differences, and the calls that were really made."""
    results, comparisons, warnings, calls = [], [], list[str](), dict.fromkeys(run.classifiers, 0)
    together, count = pairs_of(run), len(run.classifiers)
    family = len(together) * max(1, count * (count - 1) // 2)
    for images, nuisance in together:
        cell = run.cell(next(iter(run.classifiers)), images, nuisance)
        grid = measure.grid(run.about(cell))
        found = {name: points_of(run, name, images, nuisance, grid) for name in run.classifiers}
        common = np.logical_and.reduce([each.right for each in found.values()])
        names = {"image_set": images, "nuisance": nuisance}
        for name, points in found.items():
            calls[name] += points.calls
            if not points.right.any():
                warnings.append(
                    f"none of the {len(points.right)} images of {images!r} is classified correctly by {name!r}: no "
                    "breaking point is averaged; check range, mean, std and channels, and the order of the labels"
                )
            facts = run.classifiers[name].worded(run.images[images])
            results.append(
                {"classifier": name, **names}
                | _protocol(measure, run, images, nuisance, grid)
                | _one(measure, points, common if count > 1 else None, grid, facts)
            )
        for first, second in itertools.combinations(found, 2):
            comparisons.append(
                {"first": first, "second": second, **names, "confidence": measure.confidence, "family": family}
                | _difference(found[first], found[second], simultaneous(measure.confidence, family), grid)
            )
    return {"results": results, "comparisons": comparisons, "warnings": warnings, "calls": calls}


def _protocol(measure: BreakingPoints, run: RunView, images: str, nuisance: str, grid: Severities) -> dict[str, Any]:
    """How the numbers came about, which belongs to each of them."""
    space = run.nuisances[nuisance]
    labels = run.images[images].labels
    return {
        "noise": measure.noise,
        "step": grid.step,
        "limit": grid.end,
        "unit": grid.unit,
        "of_255": grid.of_255,
        "clipped": space.clipped if isinstance(space, Clipped) else None,
        "repeats": measure.repeats,
        "confidence": measure.confidence,
        "seed": run.seed,
        "reference": "label" if bool((labels >= 0).all()) else "clean prediction",
    }


def _one(
    measure: BreakingPoints,
    points: Points,
    common: NDArray[np.bool_] | None,
    grid: Severities,
    classifier: ClassifierFacts,
) -> dict[str, Any]:
    own = points.right
    said: dict[str, Any] = {"images": len(own), "correct": int(own.sum()), "calls": points.calls}
    said |= averages(points, own, grid, measure.confidence)
    said["common"] = None if common is None else averages(points, common, grid, measure.confidence)
    said["as_confidence"] = _as_confidence(points, measure.confidence)
    said["flows"] = _flows(points, classifier)
    said["survival"] = _curve(points, own, grid, measure.confidence)
    return said


def averages(points: Points, chosen: NDArray[np.bool_], grid: Severities, confidence: float) -> dict[str, Any]:
    """Over some images, each the mean of its paths."""
    value, broke = points.value[chosen], points.broke[chosen]
    if not len(value):
        return {"averaged": 0} | dict.fromkeys(AVERAGES)
    per_image, whole = value.mean(1), 1 - broke.mean(1)
    low, high = betting_bounds(per_image, confidence, planned=len(value), support=(0.0, grid.end)).pair()
    median = _median(value, broke, confidence)
    broken = broke.any(1)
    p_star = (points.p_star[chosen] * broke).sum(1)[broken] / broke.sum(1)[broken]
    percent = 100 / WHITE if grid.of_255 else None
    return {
        "averaged": len(value),
        "mean": float(per_image.mean()),
        "interval": [low, high],
        "percent": None if percent is None else float(percent * per_image.mean()),
        "percent_interval": None if percent is None else [percent * low, percent * high],
        "unbroken": float(whole.mean()),
        "unbroken_interval": list(betting_bounds(whole, confidence, planned=len(value)).pair()),
        "median": median[0],
        "median_interval": median[1],
        "p_star": float(p_star.mean()) if len(p_star) else None,
        "p_star_interval": list(betting_bounds(p_star, confidence, planned=len(value)).pair()) if len(p_star) else None,
        "spread": float(per_image.std(ddof=1)) if len(value) > 1 else None,
        "spread_of_repeats": float(np.sqrt(value.var(1, ddof=1).mean())) if value.shape[1] > 1 else None,
    }


def _median(value: Array, broke: NDArray[np.bool_], confidence: float) -> tuple[float | None, list[float | None]]:
    """Of the images' first paths; an end beyond the limit is None."""
    first = np.where(broke[:, 0], value[:, 0], np.inf)
    found = median_interval(first, confidence)
    middle, low, high = (float(each) if np.isfinite(each) else None for each in found)
    return middle, [0.0 if low is None and found[1] < 0 else low, high]


def _as_confidence(points: Points, confidence: float) -> dict[str, Any]:
    """How well the breaking point tells errors from right answers, beside the greatest probability: wrong images are
    measured too."""
    said: dict[str, Any] = {"errors": int((~points.right).sum())}
    for name, score in (("breaking_point", points.value.mean(1)), ("softmax", points.p_clean)):
        found = auroc(score, ~points.right, confidence)
        said[f"{name}_auroc"] = found.value
        said[f"{name}_auroc_interval"] = None if found.interval is None else list(found.interval)
        said[f"{name}_risk_area"] = None if found.value is None else risk_coverage(score, ~points.right).area
    return said


def _flows(points: Points, classifier: ClassifierFacts) -> list[dict[str, Any]]:
    """From which label to which, over the paths of correct images that broke."""
    broke = points.broke & points.right[:, None]
    sources = np.broadcast_to(points.base[:, None], broke.shape)[broke].tolist()
    counted = Counter(zip(sources, points.predicted[broke].tolist(), strict=True))
    total = max(1, sum(counted.values()))
    return [
        {"from": classifier.labels[a], "to": classifier.labels[b], "paths": count, "share": count / total}
        for (a, b), count in sorted(counted.items(), key=lambda each: (-each[1], each[0]))[:MOST_FLOWS]
    ]


def _curve(points: Points, chosen: NDArray[np.bool_], grid: Severities, confidence: float) -> dict[str, list[float]]:
    """The share of paths that are still whole after each value, at no more values than a figure can show. At 0 all are,
    by definition."""
    value, broke = points.value[chosen], points.broke[chosen]
    at = np.array((0.0, *grid.values))[:: max(1, len(grid.values) // CURVE_POINTS)]
    if not len(value):
        return {"values": at.tolist(), "share": [], "low": [], "high": []}
    curve = survival(value, broke, at[1:], confidence)
    return {"values": at.tolist()} | {name: [1.0, *each.tolist()] for name, each in curve._asdict().items()}


def _difference(first: Points, second: Points, confidence: float, grid: Severities) -> dict[str, Any]:
    """First minus second over the images that both get right."""
    both = first.right & second.right
    apart = first.value[both].mean(1) - second.value[both].mean(1)
    if not len(apart):
        return {"images": 0, "difference": None, "interval": None, "better": "tie"}
    low, high = betting_bounds(apart, confidence, planned=len(apart), support=(-grid.end, grid.end)).pair()
    better = "first" if low > 0 else "second" if high < 0 else "tie"
    return {"images": len(apart), "difference": float(apart.mean()), "interval": [low, high], "better": better}
