"""What holds at each severity: accuracy, confidence and drop with intervals, failures, calibration, labels fallen into.

The drop is A₀ − Aₛ, paired image by image. The share of failed images is another number: those that have been wrong at
this severity or at one below it, whatever they are now.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.measures.base import ClassifierFacts, Subject
from brittle.measures.failure_points.grid import Severities
from brittle.measures.failure_points.trajectories import Array, Trajectories
from brittle.statistics.calibration import calibration_error
from brittle.statistics.intervals import Support, betting_bounds
from brittle.statistics.selective import risk_coverage

MOST_FALLS = 5
UNKNOWN = ("accuracy", "mean_confidence", "drop")  # past the first failure, where paths end there


def curve(
    paths: Trajectories, grid: Severities, classifier: ClassifierFacts, confidence: float
) -> list[dict[str, Any]]:
    """An entry per severity, the first of which is 0."""
    first, whole = paths.first, bool(paths.seen.all())
    failed = (first[..., None] <= np.arange(1 + len(grid.values))).mean(1)  # (M, 1 + K)
    said = []
    for place, value in enumerate((0.0, *grid.values)):
        known = whole or place == 0
        entry: dict[str, Any] = {"value": value, "severity": value / grid.per_severity}
        entry |= _means(paths, place, confidence) if known else _unknown()
        entry |= average("failed", failed[:, place], confidence)
        here = first == place
        entry["first_failures"] = int(here.sum())
        entry["wrong"] = int(paths.wrong[..., place].sum()) if known else None
        entry |= _quality(paths, place) if known else dict.fromkeys(("ece", "nll", "aurc"))
        entry["falls"] = _falls(paths.predicted[..., place][here], classifier)
        said.append(entry)
    return said


def average(
    name: str, values: Array, confidence: float, support: Support = (0.0, 1.0), *, exact: bool = False
) -> dict[str, Any]:
    """The mean of one value per image (M,), and its interval."""
    if not len(values):
        return {name: None, f"{name}_interval": None}
    mean = float(values.mean())
    if exact:
        return {name: mean, f"{name}_interval": None}
    low, high = betting_bounds(values, confidence, planned=len(values), support=support).pair()
    return {name: mean, f"{name}_interval": [min(low, mean), max(high, mean)]}


def _means(paths: Trajectories, place: int, confidence: float) -> dict[str, Any]:
    right = 1.0 - paths.wrong
    said = average("accuracy", right[..., place].mean(1), confidence)
    said |= average("mean_confidence", np.exp(paths.log_p_predicted[..., place]).mean(1).clip(0, 1), confidence)
    drop = (right[..., 0] - right[..., place]).mean(1)
    return said | average("drop", drop, confidence, (-1.0, 1.0), exact=place == 0)


def _unknown() -> dict[str, Any]:
    return {f"{name}{end}": None for name in UNKNOWN for end in ("", "_interval")}


def _quality(paths: Trajectories, place: int) -> dict[str, Any]:
    confidence, wrong = np.exp(paths.log_p_predicted[..., place]).ravel(), paths.wrong[..., place].ravel()
    if not len(wrong):
        return dict.fromkeys(("ece", "nll", "aurc"))
    return {
        "ece": calibration_error(confidence, ~wrong),
        "nll": float(-paths.log_p_label[..., place].mean()),
        "aurc": risk_coverage(confidence, wrong).area,
    }


def _falls(predicted: NDArray[np.int64], classifier: ClassifierFacts) -> list[dict[str, Any]]:
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
    """Per class of the images: accuracy at every severity, the first of which is 0; None where it is not known."""
    labels, whole = subject.labels[paths.places], bool(paths.seen.all())
    found = []
    for label in np.unique(labels):
        here = paths.wrong[labels == label]
        accuracy = (1 - here.mean((0, 1))).tolist()
        failed = (paths.first[labels == label][..., None] <= np.arange(here.shape[-1])).mean((0, 1)).tolist()
        found.append(
            {
                "label": int(label),
                "class": subject.class_name(int(label)),
                "images": len(here),
                "accuracy": accuracy if whole else [accuracy[0], *[None] * (len(accuracy) - 1)],
                "failed": failed,
            }
        )
    return found
