"""Blurs images along a line, as a moving camera or the wind does."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from brittle.nuisances.ops.convolve import canvas_for, convolve, longest_reach
from brittle.nuisances.ops.streaks import margins_for, splat


def longest_streak(height: int, width: int) -> int:
    """In pixels; a streak extends one way only, so it may be twice as long as a kernel's reach to either side."""
    return 2 * longest_reach(height, width)


def draw_out(images: Tensor, length: Tensor, sigma: Tensor, degrees: Tensor) -> Tensor:
    """Every point of images (B, C, H, W) becomes a fading streak; length, sigma in pixels, direction in degrees (B,).

    k(t) ∝ exp(−t²/2σ²) for 0 ≤ t ≤ length along the direction, 0° being to the right and 90° down."""
    height, width = images.shape[-2:]
    longest = longest_streak(height, width)
    length = length.clamp(max=longest)
    share = torch.linspace(0, 1, max(longest, 8), dtype=length.dtype, device=length.device)
    weights = torch.exp(-0.5 * (share * (length / sigma.clamp(min=1e-6))[:, None]).square())
    weights = weights / weights.sum(-1, keepdim=True)
    angle, along = degrees[:, None] * (math.pi / 180), share * length[:, None]
    x, y = along * torch.cos(angle), along * torch.sin(angle)
    canvas = canvas_for(height, width, x, y, longest)
    margins = margins_for(x, y, canvas.height, canvas.width, longest + 1)
    kernels = splat(weights, x, y, canvas.height, canvas.width, margins)
    return convolve(images, kernels, canvas, "edge")
