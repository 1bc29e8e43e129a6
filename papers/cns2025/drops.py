"""EfficientNet-Lite's drop over photographs, with the interval that its run could not give.

The rows of that run are gone, and the interval it kept read the images in the order of their classes, which an interval
of this kind must not. But there is one photograph of each class, so that the table `classes` has every photograph's
answers: the drops are worked out from it again, in the order that Brittle plans images in.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from brittle.random import shuffled
from brittle.statistics.estimate import Estimate
from brittle.statistics.intervals import betting_bounds, simultaneous

Array = NDArray[np.float64]
SEED = 0  # of the run
DROPS, DIFFERENCES = (-1.0, 1.0), (-2.0, 2.0)  # what either can be


def over_photographs(rows: Sequence[Mapping[str, Any]]) -> dict[str, Array]:
    """By classifier, each photograph's drop (n,): right at 0 less its mean over severities, averaged over shifts."""
    found: dict[str, list[list[float]]] = {}
    for (name, _), own in itertools.groupby(rows, lambda row: (row["classifier"], row["nuisance"])):
        each = list(own)
        assert {row["images"] for row in each} == {1}, "a class has one photograph"
        found.setdefault(name, []).append([row["accuracy"][0] - np.mean(row["accuracy"][1:]) for row in each])
    return {name: np.mean(drops, 0) for name, drops in found.items()}


def planned(count: int) -> NDArray[np.int64]:
    """The places of images with ids 0 to count − 1 in the order that they are planned in."""
    return np.asarray(shuffled(torch.arange(count), SEED).numpy())


def mean(values: Array, support: tuple[float, float], confidence: float = 0.95) -> Estimate:
    bounds = betting_bounds(values[planned(len(values))], confidence, planned=len(values), support=support)
    return Estimate.within(float(values.mean()), bounds)


def estimates(rows: Sequence[Mapping[str, Any]]) -> dict[str, Estimate]:
    return {name: mean(values, DROPS) for name, values in over_photographs(rows).items()}


def differences(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], Estimate]:
    """Of every two classifiers, over the same photographs; intervals hold for all pairs at once."""
    pairs = list(itertools.combinations(over_photographs(rows).items(), 2))
    confidence = simultaneous(0.95, len(pairs))
    return {(one, other): mean(first - second, DIFFERENCES, confidence) for (one, first), (other, second) in pairs}
