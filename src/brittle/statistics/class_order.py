"""Whether a classifier counts its classes in another order than labels do: the assignment of labels to answers that
fits the confusion matrix best.

Of all K! orders the best one fits any answers better than the given order does, chance alone included. So it is fitted
to one half of the images and judged on the other, and the other way round; halves are taken label by label. It counts
only if it is right significantly more often there (exact sign test) and closes at least half of the gap between
accuracy and mean confidence: an untrained network, whose answers go with the classes by chance, does not come so far.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FAR_BELOW = 0.1  # an accuracy that far below the mean confidence is doubted
CLOSED = 0.5  # of that gap, at least
SIGNIFICANT = 0.001
LARGEST = 1 << 22  # entries of a confusion matrix

Labels = NDArray[np.int64]


class Reordering(NamedTuple):
    """Another order that explains wrong answers."""

    accuracy: float  # in the given order
    reordered: float  # in the other one, on images that it was not fitted to
    answers: dict[int, int]  # label → the class that the classifier answers with, fitted to all images


def reordering(labels: Labels, predicted: Labels, confidence: float) -> Reordering | None:
    """Of labels (n,) and predicted classes (n,) with that mean confidence; None where the given order stands."""
    right = predicted == labels
    accuracy = float(right.mean())
    present, seen = np.unique(labels), np.unique(predicted)
    if confidence - accuracy < FAR_BELOW or len(present) < 2 or len(present) * (len(present) + len(seen)) > LARGEST:
        return None
    half = _halves(labels)
    found = np.zeros(len(labels), dtype=bool)
    for part in (half == 0, half == 1):
        fitted = best_order(labels[~part], predicted[~part])
        found[part] = predicted[part] == [fitted.get(label, label) for label in labels[part].tolist()]
    gained, lost = int((found & ~right).sum()), int((right & ~found).sum())
    reordered = float(found.mean())
    if reordered - accuracy < CLOSED * (confidence - accuracy):
        return None
    from scipy.stats import binomtest  # slow to import, and seldom needed

    if binomtest(gained, gained + lost, alternative="greater").pvalue > SIGNIFICANT:
        return None
    return Reordering(accuracy, reordered, best_order(labels, predicted))


def best_order(labels: Labels, predicted: Labels) -> dict[int, int]:
    """Label → class, one to one, with as many images right as possible; of equally good ones, one that leaves most
    labels where they are."""
    if not len(labels):
        return {}
    rows, row = np.unique(labels, return_inverse=True)
    columns, column = np.unique(np.concatenate([predicted, rows]), return_inverse=True)
    counts = np.zeros((len(rows), len(columns)))
    np.add.at(counts, (row, column[: len(labels)]), 1.0)
    counts[np.arange(len(rows)), column[len(labels) :]] += 0.5 / len(rows)
    from scipy.optimize import linear_sum_assignment  # slow to import, and seldom needed

    chosen = linear_sum_assignment(counts, maximize=True)
    return {int(rows[one]): int(columns[other]) for one, other in zip(*chosen, strict=True)}


def _halves(labels: Labels) -> Labels:
    """0 or 1 for each image: those of a label in turn."""
    order = np.argsort(labels, kind="stable")
    half = np.empty(len(labels), dtype=np.int64)
    half[order] = np.arange(len(labels)) % 2
    return half
