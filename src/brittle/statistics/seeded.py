"""numpy's random numbers from a study's seed."""

from __future__ import annotations

import numpy as np


def generator_of(seed: int) -> np.random.Generator:
    """Any whole number is a seed, also one below 0, which numpy by itself refuses."""
    return np.random.default_rng(seed % (1 << 64))
