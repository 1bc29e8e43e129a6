"""Resampling an image on a transformed grid: an output pixel at u takes its value from the input at A u + t.

Coordinates run over [−1, 1] with pixel centres at ±(1 − 1/W) (torch's `align_corners=False`), so a
positive shift moves the content left or up.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from brittle.constants import constant

Outside = float | Literal["edge", "mirror"]
Interpolation = Literal["bilinear", "nearest", "bicubic"]

_PADDING = {"edge": "border", "mirror": "reflection"}


@lru_cache(maxsize=64)
def pixel_centres(count: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """(count,): the pixel centres of a side in [−1, 1]."""
    with torch.inference_mode(False):  # cached for later calls, some of which need gradients
        return ((2 * torch.arange(count, dtype=torch.float64, device=device) + 1) / count - 1).to(dtype)


def warp(images: Tensor, matrices: Tensor, fill: Outside = 0.0, interpolation: Interpolation = "bilinear") -> Tensor:
    """images (B, C, H, W), matrices [A | t] (B, 2, 3) → images (B, C, H, W)."""
    return resample(images, affine_sources(matrices, *images.shape[-2:]), fill, interpolation)


def affine_sources(matrices: Tensor, height: int, width: int) -> Tensor:
    """Matrices [A | t] (B, 2, 3) → A u + t for every pixel u of an image (B, H, W, 2)."""
    return _linear_forms(matrices, height, width).permute(0, 2, 3, 1)


def projective_sources(homographies: Tensor, height: int, width: int) -> Tensor:
    """Homographies (B, 3, 3) whose last row is positive over the image → the source of each pixel (B, H, W, 2)."""
    numerators = _linear_forms(homographies[:, :2], height, width)
    return (numerators / _linear_forms(homographies[:, 2:], height, width)).permute(0, 2, 3, 1)


def _linear_forms(rows: Tensor, height: int, width: int) -> Tensor:
    """Rows (a, b, c) (B, R, 3) → a x + b y + c at every pixel (B, R, H, W)."""
    # (a x) + (b y + c): a column and a row per image, and one broadcast sum for the whole grid. That is several
    # times cheaper than affine_grid's matrix product, and no image's grid depends on its batch.
    across = rows[:, :, :1] * pixel_centres(width, rows.dtype, rows.device)
    down = rows[:, :, 1:2] * pixel_centres(height, rows.dtype, rows.device) + rows[:, :, 2:]
    return across[:, :, None, :] + down[:, :, :, None]


def resample(images: Tensor, grid: Tensor, fill: Outside = 0.0, interpolation: Interpolation = "bilinear") -> Tensor:
    """images (B, C, H, W), grid (B, H, W, 2) of source coordinates (x, y) → images (B, C, H, W)."""
    if isinstance(fill, str):
        moved = F.grid_sample(images, grid, interpolation, _PADDING[fill], align_corners=False)
    elif fill == 0.0:
        moved = F.grid_sample(images, grid, interpolation, "zeros", align_corners=False)
    else:
        moved = F.grid_sample(images - fill, grid, interpolation, "zeros", align_corners=False) + fill
    return moved.clamp(0, 1) if interpolation == "bicubic" else moved  # the cubic kernel overshoots at edges


def pixel_map_to_matrix(linear: Tensor, shift: Tensor, height: int, width: int) -> Tensor:
    """A map in pixel units about the image's centre → [A | t] in [−1, 1] units, so that a rotation of a
    non-square image stays a rotation. linear (B, 2, 2), shift in pixels (B, 2) → (B, 2, 3)."""
    half = constant((width / 2, height / 2), linear.device, linear.dtype)
    return torch.cat((linear * half / half[:, None], (shift / half)[..., None]), dim=-1)
