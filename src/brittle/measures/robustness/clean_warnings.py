"""What is wrong on untouched images already, before any nuisance: guesses, and a confidence far from accuracy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from brittle.measures.base import RunView
from brittle.measures.class_order import reordering_of

FAR_FROM_ACCURACY = 0.1  # a mean confidence that far from accuracy is said
NEAR_CHANCE = 0.1  # of the way from chance to perfection: an accuracy below that is called near chance


class CleanWarnings(NamedTuple):
    """What is wrong with a classifier on untouched images already."""

    said: str = ""
    guesses: bool = False  # or its classes are matched in the wrong order, which is said elsewhere


def clean_warnings(
    run: RunView, name: str, images: str, columns: Mapping[str, NDArray[Any]], count: int
) -> CleanWarnings:
    """What the columns of the clean rows show in the first `count` images: answers no better than chance; or a mean
    confidence far from accuracy, which moves ρ whatever the nuisance does. No temperature helps a classifier that
    guesses, or whose classes are matched in the wrong order."""
    clean = {key: values[:count] for key, values in columns.items()}
    log_p, classes = clean["log_p_predicted"].astype(np.float64), len(run.classifiers[name].labels)
    confidence, accuracy = float(np.exp(log_p).mean()), float((clean["rank"] == 0).mean())
    labels = run.references(name, images)[:count]
    if reordering_of(labels, clean["predicted"], log_p) is not None:
        return CleanWarnings(guesses=True)
    chance = chance_of(labels, clean["predicted"], classes)
    if accuracy < above_chance(chance):
        said = (
            f"{name!r} is near chance on the untouched images of {images} (accuracy {accuracy:.3f}, chance "
            f"{chance:.3f}): check its weights, range, mean, std and channels, and the order of its classes"
        )
        return CleanWarnings(said, guesses=True)
    if abs(confidence - accuracy) < FAR_FROM_ACCURACY:
        return CleanWarnings()
    found = temperature(log_p, accuracy, classes)
    size, side = ("small", "less") if confidence < accuracy else ("large", "more")
    remedy = f"too {size}"
    if found is not None:
        remedy += f": dividing them by {found:.2g}{f' or {side}' if classes > 2 else ''} would close the gap"
    return CleanWarnings(
        f"{name!r} has a mean confidence of {confidence:.3f} on the untouched images of {images}, and an accuracy of "
        f"{accuracy:.3f}: ρ says more about its confidence than about its answers. "
        f"Check range, mean and std; its logits are {remedy}"
    )


def above_chance(chance: float) -> float:
    """An accuracy below that is called near chance."""
    return chance + NEAR_CHANCE * (1 - chance)


def chance_of(labels: NDArray[np.int64], predicted: NDArray[Any], classes: int) -> float:
    """The accuracy of the same answers given to the images at random; one of so many classes at least. Of images that
    all have one label, the answers say nothing of that."""
    present, counts = np.unique(labels, return_counts=True)
    shares = [float((predicted == label).mean()) for label in present] if len(present) > 1 else [0.0]
    return max(1 / classes, float(np.dot(counts / len(labels), shares)))


def temperature(log_p: NDArray[np.float64], accuracy: float, classes: int) -> float | None:
    """The T by which to divide the logits so that the mean confidence is the accuracy: exact for two classes, and for
    more a bound. None if no T in [0.01, 100] does it.

    Stored rows hold p of the predicted class, but not how the rest is spread over the others. Tempered, it is
    p^(1/T) / (p^(1/T) + Σ q^(1/T)), and of all q with the same sum equal ones have the least Σ q^(1/T) for T < 1 and
    the greatest for T > 1. So this T, for equal ones, is as close to 1 as the true T can be."""
    others = math.log(max(1, classes - 1))
    odds = log_p - np.log(-np.expm1(np.minimum(log_p, -1e-12)))

    def gap(log_t: float) -> float:
        return float(expit((odds + others) / math.exp(log_t) - others).mean()) - accuracy

    ends = math.log(0.01), math.log(100)
    if gap(ends[0]) * gap(ends[1]) > 0:
        return None
    from scipy.optimize import brentq  # slow to import, and seldom needed

    return math.exp(brentq(gap, *ends, xtol=1e-4))
