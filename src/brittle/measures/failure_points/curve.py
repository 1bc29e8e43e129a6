"""What holds at each severity: accuracy, confidence and drop with intervals, failures, calibration, labels fallen into.

The drop is A₀ − Aₛ, paired image by image. The share of failed images is another number: those that have been wrong at
this severity or at one below it, whatever they are now.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.measures.arrays import probability
from brittle.measures.base import ClassifierFacts, ImageSetFacts
from brittle.measures.failure_points.trajectories import Trajectories
from brittle.measures.severities import Severities
from brittle.statistics.calibration import calibration_error
from brittle.statistics.estimate import Estimate, means
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
    said = probability(paths.log_p_predicted[..., begin:known]).mean(1).clip(0, 1)
    dropped = means((right[:, :1] - right)[:, 1:].T, confidence, support=(-1.0, 1.0)) if paths.origin else []
    found: dict[str, list[Estimate]] = {
        "accuracy": means(right.T, confidence),
        "mean_confidence": means(said.T, confidence),
        "drop": [Estimate(0.0), *dropped] if paths.origin else [],
        "failed": means(failed.T, confidence),
    }
    entries = []
    for place, value in list(enumerate(values))[begin:]:
        entry: dict[str, Any] = {"value": value, "severity": value / grid.per_severity}
        for name, each in found.items():
            entry |= (each[place - begin] if place - begin < len(each) else Estimate()).named(name)
        here = first == place
        entry["first_failures"] = int(here.sum())
        entry["wrong"] = int(paths.wrong[..., place].sum()) if place < known else None
        entry |= _quality(paths, place) if place < known else dict.fromkeys(QUALITY)
        entry["falls"] = failure_labels(paths.predicted[..., place][here], classifier)
        entries.append(entry)
    return entries


def _quality(paths: Trajectories, place: int) -> dict[str, Any]:
    confidence, wrong = probability(paths.log_p_predicted[..., place]).ravel(), paths.wrong[..., place].ravel()
    if not len(wrong):
        return dict.fromkeys(QUALITY)
    return {
        "ece": calibration_error(confidence, ~wrong),
        "nll": float(-paths.log_p_label[..., place].mean(dtype=np.float64)),
        "aurc": risk_coverage(confidence, wrong).area,
    }


def failure_labels(predicted: NDArray[np.int64], classifier: ClassifierFacts) -> list[dict[str, Any]]:
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


def class_map(paths: Trajectories, subject: ImageSetFacts) -> list[dict[str, Any]]:
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
