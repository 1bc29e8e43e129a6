"""The generated images nearest to each real one (Dünkel et al. 2025, figures 4 and 31), by an encoder's features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from brittle.errors import BrittleError
from brittle.statistics.crossed import crossed_weights, share_interval
from brittle.statistics.estimate import Estimate

DRAWS = 2000


class Nearest(NamedTuple):
    """Of n real images, the k nearest generated ones, the nearest first."""

    places: Tensor  # (n, k)
    cosines: Tensor  # (n, k)


class SharedTrait(NamedTuple):
    """How often near images share something, such as the shift."""

    share: Estimate
    chance: float  # were the generated images drawn at random


def nearest(real: Tensor, generated: Tensor, count: int) -> Nearest:
    """By the cosine of unit vectors (n, D) and (m, D)."""
    if count > len(generated):
        raise BrittleError(
            f"{count} nearest images are wanted of {len(generated)} generated ones", "Generate more, or ask for fewer."
        )
    found = (real @ generated.T).topk(count, dim=1)
    return Nearest(found.indices, found.values)


def shared_trait(
    found: Nearest, of_real: Sequence[object], of_generated: Sequence[object], confidence: float = 0.95, seed: int = 0
) -> SharedTrait:
    """The share of the near images that have the real one's trait; real images are drawn with replacement."""
    named = np.array([str(each) for each in of_generated])
    wanted = np.array([str(each) for each in of_real])
    shares = (named[found.places.cpu().numpy()] == wanted[:, None]).mean(1)
    value, chance = float(shares.mean()), float((named[None] == wanted[:, None]).mean())
    single: NDArray[np.int64] = np.arange(len(shares))
    drawn = [each @ shares / each.sum(1) for each in crossed_weights(len(shares), [single], DRAWS, seed)]
    bounds = share_interval(value, np.concatenate(drawn), [single], np.ones(len(shares)), confidence)
    return SharedTrait(Estimate.between(value, bounds), chance)
