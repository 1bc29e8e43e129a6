"""Means over nuisances: what a suite comes to in one number per classifier, named what it is a mean of.

Every nuisance counts the same. Its interval is that of the images' own means over all nuisances, which are measured on
the same images: no independence between nuisances is assumed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from brittle.measures.robustness.estimate import PlanReach, Sample, estimates, means
from brittle.measures.robustness.options import RobustnessOptions
from brittle.measures.robustness.tally import Tally
from brittle.statistics.estimate import Estimate

Parts = Sequence[tuple[Tally, PlanReach]]  # one classifier under every nuisance


def mean_over(options: RobustnessOptions, parts: Parts, population: int, what: str) -> Estimate:
    """The mean over nuisances of one sum of their tallies, over the images and rounds that all of them have seen."""
    images, draws = (min(getattr(reach, each) for _, reach in parts) for each in ("images", "draws"))
    found = [means(options, tally, PlanReach(images, draws, reach.units, reach.enough), what) for tally, reach in parts]
    values = np.mean([each for each, _ in found], 0)
    rounds = [each for _, each in found if each is not None]
    by_round = np.mean(rounds, 0) if rounds and len(rounds) == len(found) else None
    return estimates(options, [Sample(values, by_round, population, parts[0][0].images)])[0]


def means_over(
    options: RobustnessOptions,
    found: Mapping[str, Mapping[str, tuple[Tally, PlanReach]]],
    population: int,
    labelled: bool,
) -> list[dict[str, Any]]:
    """Per classifier, of which `found` has what was found under each nuisance by name."""
    rows = []
    for name, by_nuisance in found.items():
        parts = list(by_nuisance.values())
        right = mean_over(options, parts, population, "correct") if labelled else None
        row: dict[str, Any] = {
            "classifier": name,
            "mean_of": f"{len(parts)} nuisances, each counting the same",
            "nuisances": list(by_nuisance),
            "images": min(reach.images for _, reach in parts),
            "confidence": options.confidence,
        }
        row |= mean_over(options, parts, population, "confidence").named("rho", "interval")
        rows.append(row if right is None else row | right.named("accuracy_nuisance"))
    return rows
