"""Differences of shape bias between classifiers, first minus second.

Intervals hold for all differences of a run at once. They are read from bootstrap draws, far out in their tails where
there are many classifiers, so that the number of draws grows with the number of differences.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.measures.base import RunView, Subject
from brittle.measures.deciders import Decider, factors, textures
from brittle.statistics.crossed import enough, quantiles, resampled, share_interval
from brittle.statistics.intervals import simultaneous
from brittle.statistics.ratios import Estimated, difference

if TYPE_CHECKING:
    from brittle.measures.cue_conflict.measure import CueConflict

Array = NDArray[np.float64]


def differences(measure: CueConflict, run: RunView, images: str, own: Sequence[Decider]) -> list[dict[str, Any]]:
    """Of every pair of classifiers on one image set."""
    if len(own) < 2:
        return []
    family = len(run.images) * len(own) * (len(own) - 1) // 2
    confidence = simultaneous(measure.confidence, family)
    names: dict[str, Any] = {"image_set": images, "confidence": measure.confidence, "family": family}
    biases = _Biases.of(run.images[images], own, enough(measure.resamples, confidence), run.seed)
    return [
        {"first": own[first].name, "second": own[second].name}
        | names
        | _told(*biases.apart(first, second, confidence))
        | {"images": biases.stimuli}
        for first, second in itertools.combinations(range(len(own)), 2)
    ]


class _Biases(NamedTuple):
    """The shape bias of K classifiers over the stimuli in conflict, and under D draws of these."""

    exact: Array  # (K,)
    drawn: Array  # (D, K)
    answered: Array  # (K, n) which stimuli each has named the shape or the texture of
    shared: Sequence[NDArray[Any]]  # factors (n,)
    stimuli: int

    @classmethod
    def of(cls, subject: Subject, own: Sequence[Decider], draws: int, seed: int) -> _Biases:
        conflict = (textures(subject) != subject.labels).astype(np.float64)
        shape, texture = (np.stack([getattr(each, what) * conflict for each in own]) for what in ("right", "texture"))

        def statistic(weights: Array) -> Array:
            by_shape, by_texture = weights @ shape.T, weights @ texture.T
            with np.errstate(invalid="ignore", divide="ignore"):
                return np.asarray(by_shape / (by_shape + by_texture))

        exact, shared = statistic(np.ones((1, len(subject))))[0], factors(subject)
        drawn = resampled(statistic, len(subject), shared, draws, seed)
        return cls(exact, drawn, shape + texture, shared, int(conflict.sum()))

    def apart(self, first: int, second: int, confidence: float) -> tuple[float | None, tuple[float, float] | None]:
        """The difference and its interval. Where one of the two is 0 or 1 its draws do not vary, and the interval is
        made of those of both."""
        values = self.exact[[first, second]]
        if np.isnan(values).any():
            return None, None
        if not np.isin(values, (0.0, 1.0)).any():
            apart = quantiles(self.drawn[:, first] - self.drawn[:, second], confidence)
            return float(values[0] - values[1]), apart
        one, other = (
            share_interval(float(self.exact[who]), self.drawn[:, who], self.shared, self.answered[who], confidence)
            for who in (first, second)
        )
        if one is None or other is None:
            return float(values[0] - values[1]), None
        found = difference(Estimated(float(values[0]), *one), Estimated(float(values[1]), *other))
        return found.value, (found.low, found.high)


def _told(apart: float | None, bounds: tuple[float, float] | None) -> dict[str, Any]:
    if apart is None or bounds is None:
        return {"difference": apart, "interval": None, "larger": "tie"}
    larger = "first" if bounds[0] > 0 else "second" if bounds[1] < 0 else "tie"
    return {"difference": apart, "interval": list(bounds), "larger": larger}
