"""Sums per image of what robustness is computed from: updated with a unit, merged with another's, and read off. They
take 36 bytes per image, however many draws there are.

What depends on order, the rounds of estimand `set`, is kept by (round, image): 6 bytes more for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.measures.arrays import Array
from brittle.measures.plan import Unit

CALIBRATION_BINS = 15
Counts = NDArray[np.uint32]


@dataclass
class Tally:
    """For each image of the set, in planned order: sums over its draws so far."""

    images: int
    worst_of: int
    rounds: int = 0
    draws: Counts = field(init=False)
    confidence: Array = field(init=False)  # Σ p(ℓ | T_θ x)
    correct: Counts = field(init=False)
    top5: Counts = field(init=False)
    nll: Array = field(init=False)
    flips: Counts = field(init=False)  # predictions that differ from the clean one
    wrong_among_first: Counts = field(init=False)  # of the first `worst_of` draws
    calibration: Array = field(init=False)  # (3, bins): rows, Σ confidence in the prediction, Σ correct
    confidence_by_round: NDArray[np.float32] = field(init=False)
    correct_by_round: NDArray[np.bool_] = field(init=False)
    flips_by_round: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.confidence, self.nll = np.zeros(self.images), np.zeros(self.images)
        for name in ("draws", "correct", "top5", "flips", "wrong_among_first"):
            setattr(self, name, np.zeros(self.images, np.uint32))
        self.calibration = np.zeros((3, CALIBRATION_BINS))
        self.confidence_by_round = np.zeros((self.rounds, self.images), dtype=np.float32)
        self.correct_by_round = np.zeros((self.rounds, self.images), dtype=bool)
        self.flips_by_round = np.zeros((self.rounds, self.images), dtype=bool)

    def update(self, unit: Unit, columns: Mapping[str, NDArray[Any]], clean: NDArray[Any]) -> None:
        """`columns` hold the unit's rows in planned order; `clean` (images of the unit,) the clean predictions."""
        assert isinstance(unit.images, range)
        here, draws = slice(unit.images.start, unit.images.stop), slice(unit.axis.start, unit.axis.stop)
        shape = (len(unit.images), len(unit.axis))
        log_p = columns["log_p_label"].reshape(shape).astype(np.float64)
        rank = columns["rank"].reshape(shape)
        predicted = columns["predicted"].reshape(shape)
        p, correct, flips = np.exp(log_p), rank == 0, predicted != clean[:, None]
        self.draws[here] += np.uint32(len(unit.axis))
        self.confidence[here] += p.sum(1)
        self.correct[here] += correct.sum(1, dtype=np.uint32)
        self.top5[here] += (rank < 5).sum(1, dtype=np.uint32)
        self.nll[here] -= log_p.sum(1)
        self.flips[here] += flips.sum(1, dtype=np.uint32)
        first = max(0, min(self.worst_of, draws.stop) - draws.start)
        self.wrong_among_first[here] += (~correct[:, :first]).sum(1, dtype=np.uint32)
        self._update_calibration(np.exp(columns["log_p_predicted"].astype(np.float64)), correct.ravel())
        if self.rounds:
            self.confidence_by_round[draws, here] = p.T
            self.correct_by_round[draws, here] = correct.T
            self.flips_by_round[draws, here] = flips.T

    def merge(self, other: Tally) -> None:
        """Adds what another tally of the same images was updated with."""
        for each in fields(self):
            if not each.init:
                mine, theirs = getattr(self, each.name), getattr(other, each.name)
                np.logical_or(mine, theirs, out=mine) if mine.dtype == bool else np.add(mine, theirs, out=mine)

    def _update_calibration(self, confidence: Array, correct: NDArray[np.bool_]) -> None:
        bins = np.clip(np.ceil(confidence * CALIBRATION_BINS).astype(np.int64) - 1, 0, CALIBRATION_BINS - 1)
        for row, weights in enumerate((None, confidence, correct.astype(np.float64))):
            self.calibration[row] += np.bincount(bins, weights, minlength=CALIBRATION_BINS)

    def calibration_error(self) -> float:
        """ECE: |confidence − accuracy| per bin of equal width, weighted by the rows in it."""
        rows, confidence, correct = self.calibration
        return float(np.abs(confidence - correct).sum() / rows.sum())
