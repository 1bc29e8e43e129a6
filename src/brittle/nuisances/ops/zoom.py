"""Means of an image and of its enlargements about the centre.

An enlargement does the same to all rows, and the same to all columns. So on a CPU whole rows are added up, then the
columns as rows of the transposed image: a third of the time of looking up the four neighbours of every pixel.
"""

from __future__ import annotations

import torch
from torch import Tensor

from brittle.nuisances.ops.rows import sums_of_rows
from brittle.nuisances.ops.transpose import transposed
from brittle.nuisances.ops.warp import pixel_centres, warp

_PIECE = 600_000  # values of enlarged planes at a time


def mean_zoom(images: Tensor, shrink: Tensor, still: float) -> Tensor:
    """images (B, C, H, W), shrink (B, K) → (still · x + Σₖ x enlarged by 1/shrinkₖ) / (still + K), with edge pixels
    repeated outside."""
    total = images * still
    for each in shrink.unbind(1):
        matrices = torch.diag_embed(each[:, None].expand(-1, 2))
        total = total + warp(images, torch.cat((matrices, torch.zeros_like(matrices[..., :1])), -1), "edge")
    return total / (still + shrink.shape[1])


def mean_zoom_by_rows(images: Tensor, shrink: Tensor, still: float, result: Tensor) -> None:
    """`mean_zoom` of images in [0, 1] and float32 on a CPU, into `result` and in the same range."""
    count, channels, height, width = images.shape
    factors = shrink.shape[1]
    fitting = _PIECE // (factors * channels * height * width)  # images, with all their enlargements
    some, together = (min(fitting, count), channels) if fitting else (1, 1)
    columns, column_shares = _neighbours(shrink, width)
    rows, row_shares = (each.transpose(1, 2).contiguous() for each in _neighbours(shrink, height))
    row_shares /= still + factors
    # The planes of a piece lie one below the other, and so do all enlargements of each.
    image, channel, factor = (torch.arange(each, dtype=rows.dtype) for each in (count, together, factors))
    plane = (image % some)[:, None] * together + channel
    below = (plane[..., None] * factors + factor) * height
    columns = columns[:, None] + (plane * width)[..., None, None, None]
    rows = rows[:, None] + below[:, :, None, :, None]
    column_shares, row_shares = column_shares[:, None].expand(columns.shape), row_shares[:, None].expand(rows.shape)
    for start in range(0, count, some):
        own = slice(start, start + some)
        across, shares_across, down, shares_down = (
            each[own].flatten() for each in (columns, column_shares, rows, row_shares)
        )
        planes = (torch.split(each[own].flatten(0, 1), some * together) for each in (images, result))
        for upright, out in zip(*planes, strict=True):
            wide = sums_of_rows(transposed(upright).view(-1, height), across, shares_across, 2)
            stack = transposed(wide.view(-1, width, height)).view(-1, width)
            high = sums_of_rows(stack, down, shares_down, 2 * factors)
            torch.add(high.view(out.shape), upright, alpha=still / (still + factors), out=out).clamp_(0, 1)


def _neighbours(shrink: Tensor, side: int) -> tuple[Tensor, Tensor]:
    """shrink (B, K) → which two pixels each pixel of an enlarged side lies between, and their shares (B, K, side, 2),
    rounded as `warp` rounds."""
    centres = pixel_centres(side, shrink.dtype, shrink.device) * shrink[..., None]
    places = ((centres + 1).double() * (side / 2) - 0.5).to(shrink.dtype).clamp_(0, side - 1)
    first = places.floor()
    after, before = places - first, first.int()
    return torch.stack((before, (before + 1).clamp_(max=side - 1)), -1), torch.stack((1 - after, after), -1)
