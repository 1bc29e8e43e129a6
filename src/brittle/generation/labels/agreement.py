"""Whether two people say the same of the same images.

Shares of equal answers, and Cohen's κ of the decision that matters, "not class" or something else: of a decision
between two things it is the κ of error consistency, with the same interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from brittle.generation.labels.store import Labeller
from brittle.statistics.consistency import consistency, interval, redrawn_together
from brittle.statistics.crossed import crossed_weights, share_interval
from brittle.statistics.estimate import Estimate

DRAWS = 2000


class Agreement(NamedTuple):
    """Of two people on the images that both labelled."""

    first: str
    second: str
    images: int
    same: Estimate  # share of images with the same of the three answers
    kappa: Estimate  # of "not class" against the other two


def agreements(
    labellers: Sequence[Labeller], group_of: Mapping[str, str], confidence: float, seed: int
) -> list[Agreement]:
    """Of every pair with images in common. `group_of` says which belong together: those of one class and seed."""
    found = []
    for first, second in combinations(labellers, 2):
        common = sorted(first.generated.keys() & second.generated.keys())
        if common:
            found.append(_agreement(first, second, common, group_of, confidence, seed))
    return found


def _agreement(
    first: Labeller, second: Labeller, common: list[str], group_of: Mapping[str, str], confidence: float, seed: int
) -> Agreement:
    said = np.array([[who.answers[image].label for image in common] for who in (first, second)])
    group = np.unique([group_of.get(image, image) for image in common], return_inverse=True)[1]
    same = (said[0] == said[1]).astype(float)
    drawn = np.concatenate([(each @ same) / each.sum(1) for each in crossed_weights(len(common), [group], DRAWS, seed)])
    share = float(same.mean())
    bounds = share_interval(share, drawn, [group], np.ones_like(same), confidence)
    apart = (said != "not").astype(float)
    pair, seen = np.array([[0, 1]]), np.ones_like(apart)
    kappa = float(consistency(apart, seen, pair).kappa[0])
    draws = redrawn_together(apart, seen, pair, [group], DRAWS, seed)[:, 0]
    return Agreement(
        first.name,
        second.name,
        len(common),
        Estimate.between(share, bounds),
        Estimate.between(kappa, interval(kappa, draws, confidence)),
    )
