"""New weak points: pictures that were right before and are wrong now, by image and θ."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from brittle.comparison.recorded import Evaluations

MOST_KEPT = 20  # images of a cell


class NewFailure(NamedTuple):
    """The θ at which an image that was right has become wrong and the probability of its label fell the most."""

    image: int  # id
    draw: int
    p_before: float
    p_after: float
    predicted: int  # class, now
    right_before: int  # of all draws of the image
    right_after: int
    draws: int

    @property
    def fall(self) -> float:
        return self.p_before - self.p_after

    @property
    def lost(self) -> int:
        """How many more draws of the image are right now; negative where fewer are."""
        return self.right_after - self.right_before


class Flips(NamedTuple):
    """Of all pictures that two runs have seen: how many became wrong, how many right, and the worst of those that
    became wrong, one per image."""

    pictures: int
    now_wrong: int
    now_right: int
    worst: tuple[NewFailure, ...]


def flips(after: Evaluations, before: Evaluations, most: int = MOST_KEPT) -> Flips:
    """What has become of the same images at the same θ."""
    wrong, right = before.right & ~after.right, after.right & ~before.right
    fall = np.where(wrong, before.p.astype(np.float64) - after.p, -np.inf)
    draws = fall.argmax(1) if fall.size else np.empty(0, np.int64)
    falls = fall[np.arange(len(draws)), draws]
    images = np.argsort(-falls, kind="stable")[:most]
    worst = tuple(
        NewFailure(
            int(after.ids[place]),
            int(draws[place]),
            float(before.p[place, draws[place]]),
            float(after.p[place, draws[place]]),
            int(after.predicted[place, draws[place]]),
            int(before.right[place].sum()),
            int(after.right[place].sum()),
            after.right.shape[1],
        )
        for place in images.tolist()
        if falls[place] > -np.inf
    )
    return Flips(wrong.size, int(wrong.sum()), int(right.sum()), worst)
