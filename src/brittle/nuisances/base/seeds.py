"""Randomness that θ carries as a seed: two whole numbers below 2²⁴, which float32 holds exactly.

Where a transform is no simple function of its random numbers (photons, clouds, drops, noise that fills a hole), θ
holds a seed, and `apply` makes the numbers from it. 24 bits alone would repeat among some thousand draws; 48 do among
some ten million.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from brittle.random import fold

SEED_NAMES = ("seed 1", "seed 2")
_VALUES = 2**24


def seed_from(shares: Tensor) -> Tensor:
    """Uniform numbers (..., 2) on [0, 1] → a seed each (..., 2)."""
    return (shares * _VALUES).floor().clamp(0, _VALUES - 1)


def seed_keys(seeds: Tensor, stream: int = 0) -> Tensor:
    """Seeds (..., 2) → keys (...) of the random fields they stand for; each `stream` is another field."""
    first, second = seeds.detach().round().to(torch.int64).unbind(-1)
    return fold(fold(first, second), stream)


def seed_log_prior(seeds: Tensor) -> Tensor:
    """Seeds (..., 2) → log p (...): uniform, and a real number stands for the nearest whole one."""
    inside = ((seeds >= -0.5) & (seeds < _VALUES - 0.5)).all(-1)
    return torch.where(inside, seeds.new_full((), -len(SEED_NAMES) * math.log(_VALUES)), -math.inf)
