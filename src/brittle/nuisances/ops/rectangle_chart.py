"""Coordinates z in R⁴ of a rectangle that are N(0, I) if rectangles of whole pixels have p ∝ exp(−pixels / s).

The tail probability of z₁ is that of the width, that of z₂ is that of the height given the width, and z₃ and z₄ say
where the rectangle lies in the remaining room. Each rectangle is a cell of R⁴ with the same probability as the
rectangle: every z gives a rectangle, and nearby z give similar ones.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from brittle.random import uniform


class TailTable(NamedTuple):
    """P(side ≥ k pixels) for k = 1, 2, … (float64): from 1, for one pixel or more, down to 0, past the image."""

    width: Tensor  # (W + 1,)
    height: Tensor  # (W, H + 1) given the width


@lru_cache(maxsize=32)
def tails(height: int, width: int, scale: float, device: torch.device) -> TailTable:
    """For p ∝ exp(−pixels / scale) on images of height × width."""
    with torch.inference_mode(False):  # cached for later calls
        across = torch.arange(1, width + 1, dtype=torch.float64)
        down = torch.arange(1, height + 1, dtype=torch.float64)
        # Measured from the smallest area that can be hidden, so that weights don't vanish for a small scale.
        given = torch.exp(-across[:, None] * (down - 1) / scale) * (height - down + 1)
        mass = torch.exp(-(across - 1) / scale) * (width - across + 1) * given.sum(1)
        return TailTable(_tail(mass).to(device), _tail(given).to(device))


def _tail(mass: Tensor) -> Tensor:
    """(..., n) → (..., n + 1): the share of the sum that comes from each place onwards."""
    sums = mass.flip(-1).cumsum(-1).flip(-1)
    return torch.cat((sums, torch.zeros_like(sums[..., :1])), -1) / sums[..., :1]


def push(z: Tensor, height: int, width: int, scale: float) -> Tensor:
    """z (..., 4) float64 → corners (..., 4)."""
    table = tails(height, width, scale, z.device)
    wide, high = torch.special.ndtr(-z[..., 0]), torch.special.ndtr(-z[..., 1])
    across = torch.searchsorted(-table.width[:-1], -wide).clamp(min=1)
    down = torch.searchsorted(-table.height[across - 1, :-1], -high[..., None])[..., 0].clamp(min=1)
    room = torch.stack((width - across + 1, height - down + 1), -1)
    first = torch.minimum((torch.special.ndtr(z[..., 2:]) * room).floor(), room - 1)
    return torch.cat((first, first + torch.stack((across, down), -1)), -1)


def pull(corners: Tensor, keys: Tensor, height: int, width: int, scale: float) -> Tensor:
    """corners (..., b, 4) float64, keys (...) → z (..., b, 4), drawn from N(0, I) within each rectangle's cell."""
    table = tails(height, width, scale, corners.device)
    place = uniform(keys, 4 * corners.shape[-2]).view(corners.shape)
    across, down = (corners[..., 2:] - corners[..., :2]).long().unbind(-1)
    wide = torch.lerp(table.width[across], table.width[across - 1], place[..., 0])
    high = torch.lerp(table.height[across - 1, down], table.height[across - 1, down - 1], place[..., 1])
    room = torch.stack((width - across + 1, height - down + 1), -1)
    where = (corners[..., :2] + place[..., 2:]) / room
    shares = torch.cat((torch.stack((wide, high), -1), where), -1).clamp(1e-300, 1 - 2**-53)
    z: Tensor = torch.special.ndtri(shares)
    return torch.cat((-z[..., :2], z[..., 2:]), -1)
