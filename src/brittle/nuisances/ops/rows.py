"""Weighted sums of whole rows, for a CPU: filters and enlargements without a look at single pixels.

What a filter does down the columns, it does to whole rows: row i of the result is a sum of rows near i. A CPU adds up
rows sixteen numbers at a time, hardly slower than it reads them. Across the rows likewise, on the transposed image.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from brittle.nuisances.ops.transpose import transposed


def sums_of_rows(values: Tensor, rows: Tensor, weights: Tensor, taps: int) -> Tensor:
    """values (R, n), rows and weights (N · taps,) → Σ weight · values[row] over each `taps` of them (N, n)."""
    return torch.embedding_bag(values, rows, _starts(len(rows), taps, rows.dtype), False, 0, False, weights)[0]


@lru_cache(maxsize=64)
def _starts(count: int, taps: int, dtype: torch.dtype) -> Tensor:
    with torch.inference_mode(False):
        return torch.arange(0, count, taps, dtype=dtype)


def filter_both_ways(images: Tensor, kernels: Tensor) -> Tensor:
    """images (B, C, H, W), kernels (B, 2r + 1) → filtered down and across, with edge pixels repeated outside."""
    channels, height, width = images.shape[1:]
    weights = kernels[:, None].expand(-1, channels * max(height, width), -1).contiguous()
    planes, taps = images.reshape(-1, height, width), kernels.shape[1]
    for _ in range(2):
        side, across = planes.shape[1:]
        rows, own = _neighbours(len(planes), side, taps // 2), weights[:, : channels * side].flatten()
        planes = transposed(sums_of_rows(planes.view(-1, across), rows, own, taps).view(planes.shape))
    return planes.view(images.shape)


@lru_cache(maxsize=16)
def _neighbours(planes: int, height: int, reach: int) -> Tensor:
    """Of planes one below the other, the rows (planes · height · (2 · reach + 1),) around each row; past the first and
    the last row of a plane these again."""
    with torch.inference_mode(False):
        row, away = torch.arange(height), torch.arange(-reach, reach + 1)
        own = (row[:, None] + away).clamp_(0, height - 1)
        return (torch.arange(planes)[:, None, None] * height + own).int().flatten()
