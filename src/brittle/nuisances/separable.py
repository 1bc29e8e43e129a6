"""Filters that act on rows and columns one after the other, as matrices: any width, any border, no kernel size.

A filter along an axis is a matrix product, whatever its reach; so every image has a reach of its own, nothing about
θ needs to be known on the host, and at level 0 the matrix is the unit matrix.
"""

from __future__ import annotations

from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor


def filter_rows_and_columns(images: Tensor, down: Tensor, across: Tensor) -> Tensor:
    """images (B, C, H, W), down (B, H, H), across (B, W, W) → Y = down · X · acrossᵀ in every channel."""
    count, channels, height, width = images.shape
    filtered = torch.bmm(images.reshape(count, channels * height, width), across.transpose(1, 2))
    filtered = filtered.view(count, channels, height, width)
    return torch.matmul(down[:, None], filtered)


@lru_cache(maxsize=16)
def _distances(count: int, device: torch.device) -> Tensor:
    with torch.inference_mode(False):
        places = torch.arange(count, device=device)
        return (places[:, None] - places).abs().flatten()


@lru_cache(maxsize=16)
def _edges(count: int, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    """Two rows (count,) that are 1 at the first and at the last pixel."""
    with torch.inference_mode(False):
        unit = torch.eye(count, dtype=dtype, device=device)
        return unit[0], unit[-1]


def gaussian_matrix(sigma: Tensor, count: int) -> Tensor:
    """sigma (B,) in pixels → (B, count, count): a sampled Gaussian, with the edge pixels repeated outside.

    Row i holds g(|i − j|); what would fall outside is a tail sum of g, and belongs to the first or last pixel."""
    far = torch.arange(2 * count, dtype=sigma.dtype, device=sigma.device)
    precision = 0.5 / sigma.square().clamp(min=1e-4)
    # Numbers too small for the hardware's fast path would slow the products down a hundredfold.
    weights = F.threshold(torch.exp(-precision[:, None] * far.square()), 1e-12, 0.0)
    weights = weights / (2 * weights.sum(-1, keepdim=True) - 1)
    # Below 0.7 pixels the samples no longer see the Gaussian's width; three taps (δ/2, 1 − δ, δ/2) make up for it.
    variance = 2 * (weights * far.square()).sum(-1)
    missing = (sigma.clamp(max=1).square() - variance).clamp(min=0)[:, None]
    before, after = weights[:, far.long().sub_(1).abs_()], F.pad(weights[:, 1:], (0, 1))
    weights = torch.lerp(weights, 0.5 * (before + after), missing)
    matrix = weights[:, :count].index_select(1, _distances(count, sigma.device)).view(-1, count, count)
    beyond = weights.flip(-1).cumsum(-1).flip(-1)[:, 1 : count + 1]  # Σ over d > i of g(d)
    first, last = _edges(count, sigma.dtype, sigma.device)
    return torch.addcmul(torch.addcmul(matrix, beyond[..., None], first), beyond.flip(-1)[..., None], last)
