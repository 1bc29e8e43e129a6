"""Calibration: how far confidence is from accuracy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

BINS = 15


def calibration_error(confidence: npt.ArrayLike, right: npt.ArrayLike, bins: int = BINS) -> float:
    """ECE: |confidence − accuracy| per bin of equal width (low, high], weighted by how many answers are in it.

    It is biased upwards in small samples: each bin's |·| does not average out."""
    said, correct = np.asarray(confidence, np.float64), np.asarray(right, np.float64)
    place = np.clip(np.ceil(said * bins).astype(np.int64) - 1, 0, bins - 1)
    gaps = np.bincount(place, said - correct, minlength=bins)
    return float(np.abs(gaps).sum() / len(said))
