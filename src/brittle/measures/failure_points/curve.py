"""What holds at each severity: accuracy, confidence and drop with intervals, failures, calibration, labels fallen into.

The drop is A₀ − Aₛ, paired image by image. The share of failed images is another number: those that have been wrong at
this severity or at one below it, whatever they are now.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.measures.base import ClassifierFacts, Subject
from brittle.measures.failure_points.trajectories import Array, Trajectories
from brittle.measures.severities import Severities
from brittle.statistics.calibration import calibration_error
from brittle.statistics.intervals import Support, betting_bounds
from brittle.statistics.selective import risk_coverage

MOST_FALLS = 5
QUALITY = ("ece", "nll", "aurc")


def curve(
    paths: Trajectories, grid: Severities, classifier: ClassifierFacts, confidence: float
) -> list[dict[str, Any]]:
    """An entry per severity, the first of which is 0 where there are images at 0."""
    first, values = paths.first, (0.0, *grid.values)
    begin, known = paths.begin, len(values) if paths.whole else 1
    failed = (first[..., None] <= np.arange(begin, len(values))).mean(1)
    right = 1.0 - paths.wrong[..., begin:known].mean(1)
    said = np.exp(paths.log_p_predicted[..., begin:known]).mean(1).clip(0, 1)
    drop = [(0.0, None), *averages((right[:, :1] - right)[:, 1:], confidence, (-1.0, 1.0))] if paths.origin else []
    means: dict[str, list[Mean]] = {
        "accuracy": averages(right, confidence),
        "mean_confidence": averages(said, confidence),
        "drop": drop,
        "failed": averages(failed, confidence),
    }
    found = []
    for place, value in list(enumerate(values))[begin:]:
        entry: dict[str, Any] = {"value": value, "severity": value / grid.per_severity}
        for name, pairs in means.items():
            entry[name], entry[f"{name}_interval"] = (
                pairs[place - begin] if place - begin < len(pairs) else (None, None)
            )
        here = first == place
        entry["first_failures"] = int(here.sum())
        entry["wrong"] = int(paths.wrong[..., place].sum()) if place < known else None
        entry |= _quality(paths, place) if place < known else dict.fromkeys(QUALITY)
        entry["falls"] = falls(paths.predicted[..., place][here], classifier)
        found.append(entry)
    return found


Mean = tuple[float | None, list[float] | None]


def averages(values: Array, confidence: float, support: Support = (0.0, 1.0)) -> list[Mean]:
    """The means of values (M, n) over images, each with its interval."""
    if not values.size:
        return [(None, None)] * values.shape[1]
    means = values.mean(0)
    bounds = betting_bounds(values.T, confidence, planned=len(values), support=support)
    low, high = np.minimum(bounds.low, means), np.maximum(bounds.high, means)
    return [(mean, [a, b]) for mean, a, b in zip(means.tolist(), low.tolist(), high.tolist(), strict=True)]


def average(name: str, values: Array, confidence: float, support: Support = (0.0, 1.0)) -> dict[str, Any]:
    """The mean of one value per image (M,), and its interval."""
    ((mean, interval),) = averages(values[:, None], confidence, support)
    return {name: mean, f"{name}_interval": interval}


def _quality(paths: Trajectories, place: int) -> dict[str, Any]:
    confidence, wrong = np.exp(paths.log_p_predicted[..., place]).ravel(), paths.wrong[..., place].ravel()
    if not len(wrong):
        return dict.fromkeys(QUALITY)
    return {
        "ece": calibration_error(confidence, ~wrong),
        "nll": float(-paths.log_p_label[..., place].mean()),
        "aurc": risk_coverage(confidence, wrong).area,
    }


def falls(predicted: NDArray[np.int64], classifier: ClassifierFacts) -> list[dict[str, Any]]:
    """The labels that images fall into where they fail first, the most frequent first."""
    labels, counts = np.unique(predicted, return_counts=True)
    order = np.lexsort((labels, -counts))[:MOST_FALLS]
    return [
        {
            "label": classifier.labels[labels[each]],
            "paths": int(counts[each]),
            "share": float(counts[each] / len(predicted)),
        }
        for each in order
    ]


def class_map(paths: Trajectories, subject: Subject) -> list[dict[str, Any]]:
    """Per class of the images: accuracy at every severity that there is; where paths end at their first failure, the
    share that has failed by then."""
    labels, whole = subject.labels[paths.places], paths.whole
    failed = paths.first[..., None] <= np.arange(paths.wrong.shape[-1])
    per_image = (1.0 - paths.wrong.mean(1) if whole else failed.mean(1))[:, paths.begin :]
    return [
        {
            "label": int(label),
            "class": subject.class_name(int(label)),
            "images": int((labels == label).sum()),
            "accuracy" if whole else "failed": per_image[labels == label].mean(0).round(4).tolist(),
        }
        for label in np.unique(labels)
    ]
