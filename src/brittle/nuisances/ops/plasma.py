"""Clouds from the diamond-square algorithm, for a whole batch at once."""

from __future__ import annotations

import torch
from torch import Tensor

from brittle.random import fold, uniform_field


def plasma(keys: Tensor, decay: Tensor, height: int, width: int) -> Tensor:
    """keys (B,), decay (B,) > 1 → (B, height, width): clouds in [0, 1] from the diamond-square algorithm.

    They live on a torus whose side is the next power of two. From one octave to the next the noise falls by decay², as
    in ImageNet-C's fog, so a smaller decay makes finer clouds. Values are scaled so that the whole torus spans
    [0, 1]."""
    octaves = max(max(height, width) - 1, 1).bit_length()
    field = decay.new_zeros(len(decay), 1, 1)
    amplitude = torch.ones_like(decay)
    for octave in range(octaves):
        side = 2**octave
        noise = uniform_field(fold(keys, octave), 3 * side * side).view(-1, 3, side, side)
        noise = noise.sub_(0.5) * (2 * amplitude)[:, None, None, None]
        centres = _mean_with_next(_mean_with_next(field, 1), 2) + noise[:, 0]
        beside = (_mean_with_next(field, 2) + _mean_with_previous(centres, 1)) * 0.5 + noise[:, 1]
        below = (_mean_with_next(field, 1) + _mean_with_previous(centres, 2)) * 0.5 + noise[:, 2]
        upper, lower = torch.stack((field, beside), -1), torch.stack((below, centres), -1)
        field = torch.stack((upper.flatten(2), lower.flatten(2)), 2).flatten(1, 2)
        amplitude = amplitude / decay.square()
    low, high = field.flatten(1).amin(1), field.flatten(1).amax(1)  # gradients flow in torch 2.6 too
    field = field[:, :height, :width]
    return (field - low[:, None, None]) / (high - low)[:, None, None]


def _mean_with_next(field: Tensor, dim: int) -> Tensor:
    return (field + field.roll(-1, dim)) * 0.5


def _mean_with_previous(field: Tensor, dim: int) -> Tensor:
    return (field + field.roll(1, dim)) * 0.5
