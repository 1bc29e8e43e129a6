"""Randomness as a seed in θ: two whole numbers below 2²⁴, which float32 represents exactly.

If a transform is not a simple function of its random numbers (photons, clouds, drops, noise that fills a hole), θ
contains a seed, and `apply` generates the numbers from it. With 24 bits, seeds would repeat after a few thousand draws;
with 48, after some ten million.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from brittle.random import fold

SEED_NAMES = ("seed 1", "seed 2")
_VALUES = 2**24


def seed_from(shares: Tensor) -> Tensor:
    """Uniform numbers (..., 2) on [0, 1] → seeds (..., 2)."""
    return (shares * _VALUES).floor().clamp(0, _VALUES - 1)


def seed_keys(seeds: Tensor, stream: int = 0) -> Tensor:
    """Seeds (..., 2) → keys (...) of their random fields; each `stream` is a separate field."""
    first, second = seeds.detach().round().to(torch.int64).unbind(-1)
    return fold(fold(first, second), stream)


def seed_log_prior(seeds: Tensor) -> Tensor:
    """Seeds (..., 2) → log p (...): uniform, where a real number counts as the nearest whole one."""
    inside = ((seeds >= -0.5) & (seeds < _VALUES - 0.5)).all(-1)
    return torch.where(inside, seeds.new_full((), -len(SEED_NAMES) * math.log(_VALUES)), -math.inf)
