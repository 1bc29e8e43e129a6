"""Few classes against all (A.7.4 and figure 25, in kind): accuracy, drop and rank over random subsets of the classes.

Computed from the accuracy of each class at each severity, which the measure `failure-points` gives. A class weighs as
many images as it has; the classifier still chooses among all of its classes, as in the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

Array = NDArray[np.float64]
DRAWS = 500
COVERED = (0.025, 0.975)


class Curves(NamedTuple):
    """Classifiers × classes × 1 + S severities, mean over nuisances, and how many images a class has."""

    names: tuple[str, ...]
    accuracy: Array  # (K, C, 1 + S)
    images: Array  # (C,)


class Subset(NamedTuple):
    """Of random subsets of `classes` classes: 2.5 % and 97.5 % of each number."""

    classes: int
    accuracy: tuple[float, float]  # at 0, of the classifier named first
    drop: tuple[float, float]  # over the severities above 0, of the same
    tau: tuple[float, float] | None  # Kendall's τ of the order by drop with that over all classes


def curves(rows: Sequence[dict[str, Any]]) -> Curves:
    """From the table `classes`: nuisances of the same severities are averaged."""
    names = tuple(dict.fromkeys(row["classifier"] for row in rows))
    classes = {name: place for place, name in enumerate(dict.fromkeys(row["class"] for row in rows))}
    total = np.zeros((len(names), len(classes), len(rows[0]["accuracy"])))
    count, images = np.zeros((len(names), len(classes), 1)), np.zeros(len(classes))
    for row in rows:
        at = names.index(row["classifier"]), classes[row["class"]]
        total[at] += row["accuracy"]
        count[at] += 1
        images[at[1]] = row["images"]
    return Curves(names, total / count, images)


def over(found: Curves, chosen: NDArray[np.int64]) -> tuple[Array, Array]:
    """Accuracy at 0 and mean drop (K,) of every classifier over some of the classes."""
    weight = found.images[chosen] / found.images[chosen].sum()
    accuracy = np.einsum("kcs,c->ks", found.accuracy[:, chosen], weight)
    return accuracy[:, 0], accuracy[:, 0] - accuracy[:, 1:].mean(1)


def subsets(found: Curves, sizes: Sequence[int], seed: int = 0) -> list[Subset]:
    random, count = np.random.default_rng(seed), len(found.images)
    whole = over(found, np.arange(count))[1]
    said = []
    for size in sizes:
        drawn = [over(found, random.choice(count, size, replace=False)) for _ in range(DRAWS)]
        taus = np.array([kendalltau(drop, whole).statistic for _, drop in drawn])
        known = taus[np.isfinite(taus)]
        said.append(
            Subset(
                size,
                _ends([accuracy[0] for accuracy, _ in drawn]),
                _ends([drop[0] for _, drop in drawn]),
                _ends(known) if len(known) else None,
            )
        )
    return said


def _ends(values: Sequence[float] | Array) -> tuple[float, float]:
    low, high = np.quantile(values, COVERED)
    return float(low), float(high)
