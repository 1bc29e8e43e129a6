"""What `jpeg_planes` does, the way a CPU is fastest at: whole rows, and no more frequencies than there are.

At the qualities of ImageNet-C, a third to a half of the 64 frequencies are left anywhere in a photograph of 224×224
pixels, and a tenth of them in its chroma.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from brittle.nuisances.digital.jpeg_planes import basis
from brittle.nuisances.ops.rows import sums_of_rows
from brittle.nuisances.ops.transpose import transposed

BLOCKS = 500  # of several small images, whose frequencies are looked at together


def halved(planes: Tensor) -> Tensor:
    count, channels, height, width = planes.shape
    rows = planes.view(-1, 2, width)
    upright = transposed((rows[:, 0] + rows[:, 1]).view(-1, height // 2, width)).view(-1, 2, height // 2)
    total = (upright[:, 0] + upright[:, 1]).view(-1, width // 2, height // 2)
    small = total.add_(_biases(width // 2)).mul_(0.25).floor_()
    return transposed(small).view(count, channels, height // 2, width // 2)


@lru_cache(maxsize=16)
def _biases(width: int) -> Tensor:
    """What makes sums of four round up and down in turns, (W, 1)."""
    with torch.inference_mode(False):
        return 1.0 + torch.arange(width, dtype=torch.float32)[:, None] % 2


def coded(planes: Tensor, steps: Tensor) -> Tensor:
    count, channels, height, width = planes.shape
    waves = _waves()
    frequencies = F.conv2d(planes.view(-1, 1, height, width), waves.view(64, 1, 8, 8), stride=8)
    frequencies = frequencies.view(count, channels, 64, -1).div_(steps[:, None, :, None])
    frequencies.add_(frequencies.sign(), alpha=0.5)
    np.trunc(frequencies.numpy(), out=frequencies.numpy())  # which torch does number by number
    left = torch.linalg.vector_norm(frequencies, 2, -1).sum(1)  # the fastest way to find those that are all 0
    blocks = frequencies.new_empty(count, channels, frequencies.shape[-1], 64)
    together = max(1, BLOCKS // frequencies.shape[-1])
    parts = (each.split(together) for each in (frequencies, left, steps, blocks))
    for own, some, step, place in zip(*parts, strict=True):
        kept = some.sum(0).nonzero()[:, 0]
        heights = own.index_select(2, kept).mul_(step.index_select(1, kept)[:, None, :, None]).flatten(0, 1)
        lasting = waves.index_select(0, kept).expand(len(heights), -1, -1)
        torch.bmm(heights.transpose(1, 2), lasting, out=place.flatten(0, 1))
    return torch.channel_shuffle(blocks.view(-1, width, 8, 1), width // 8).view(planes.shape)


@lru_cache(maxsize=1)
def _waves() -> Tensor:
    """(64 frequencies, 64 pixels)."""
    with torch.inference_mode(False):
        return basis(torch.device("cpu")).T.contiguous()


def doubled(planes: Tensor) -> Tensor:
    count, channels, height, width = planes.shape
    upright = transposed(planes.reshape(-1, height, width)).view(-1, height)
    wide = sums_of_rows(upright, *_doubling(count * channels, width), 2).view(-1, 2 * width, height)
    large = sums_of_rows(transposed(wide).view(-1, 2 * width), *_doubling(count * channels, height), 2)
    return large.round_().view(count, channels, 2 * height, 2 * width)


@lru_cache(maxsize=16)
def _doubling(planes: int, height: int) -> tuple[Tensor, Tensor]:
    """For planes one below the other, which two rows each row of a doubled plane is made of, and how much of each."""
    with torch.inference_mode(False):
        row = torch.arange(2 * height)
        near = row // 2
        far = (near + 2 * (row % 2) - 1).clamp_(0, height - 1)
        rows = torch.arange(planes)[:, None, None] * height + torch.stack((near, far), -1)
        return rows.int().flatten(), torch.tensor((0.75, 0.25)).repeat(planes * 2 * height)
