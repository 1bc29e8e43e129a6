"""Differences of shape bias between classifiers, first minus second.

Intervals hold for all differences of a run at once. They are read from bootstrap draws, far out in their tails where
there are many classifiers, so that the number of draws grows with the number of differences.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.measures.arrays import Array
from brittle.measures.base import ImageSetFacts, RunView
from brittle.measures.cue_conflict.options import CueConflictOptions
from brittle.measures.deciders import Decider, factors, textures
from brittle.statistics.crossed import enough, quantiles, resampled, share_interval
from brittle.statistics.estimate import Estimate
from brittle.statistics.fieller import difference
from brittle.statistics.intervals import simultaneous


def differences(options: CueConflictOptions, run: RunView, images: str, own: Sequence[Decider]) -> list[dict[str, Any]]:
    """Of every pair of classifiers on one image set."""
    if len(own) < 2:
        return []
    family = len(run.images) * math.comb(len(own), 2)
    confidence = simultaneous(options.confidence, family)
    names: dict[str, Any] = {"image_set": images, "confidence": options.confidence, "family": family}
    biases = _Biases.of(run.images[images], own, enough(options.resamples, confidence), run.seed)
    found = []
    for first, second in itertools.combinations(range(len(own)), 2):
        apart = biases.apart(first, second, confidence)
        told = {"first": own[first].name, "second": own[second].name, "images": biases.stimuli}
        found.append(names | told | apart.named("difference", "interval") | {"larger": apart.favours()})
    return found


class _Biases(NamedTuple):
    """The shape bias of K classifiers over the stimuli in conflict, and under D draws of these."""

    exact: Array  # (K,)
    drawn: Array  # (D, K)
    answered: Array  # (K, n) which stimuli each has named the shape or the texture of
    shared: Sequence[NDArray[Any]]  # factors (n,)
    stimuli: int

    @classmethod
    def of(cls, subject: ImageSetFacts, own: Sequence[Decider], draws: int, seed: int) -> _Biases:
        conflict = (textures(subject) != subject.labels).astype(np.float64)
        shape, texture = (np.stack([getattr(each, what) * conflict for each in own]) for what in ("right", "texture"))

        def statistic(weights: Array) -> Array:
            by_shape, by_texture = weights @ shape.T, weights @ texture.T
            with np.errstate(invalid="ignore", divide="ignore"):
                return np.asarray(by_shape / (by_shape + by_texture))

        exact, shared = statistic(np.ones((1, len(subject))))[0], factors(subject)
        drawn = resampled(statistic, len(subject), shared, draws, seed)
        return cls(exact, drawn, shape + texture, shared, int(conflict.sum()))

    def apart(self, first: int, second: int, confidence: float) -> Estimate:
        """The difference and its interval. Where one of the two is 0 or 1 its draws do not vary, and the interval is
        made of those of both."""
        values = self.exact[[first, second]]
        apart = float(values[0] - values[1])
        if np.isnan(values).any() or not np.isin(values, (0.0, 1.0)).any():
            return Estimate.between(apart, quantiles(self.drawn[:, first] - self.drawn[:, second], confidence))
        one, other = (
            Estimate.between(
                value, share_interval(value, self.drawn[:, who], self.shared, self.answered[who], confidence)
            )
            for who, value in zip((first, second), values.tolist(), strict=True)
        )
        return difference(one, other)
