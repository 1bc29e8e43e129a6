"""What JPEG does to planes of whole numbers: chroma halved, 8×8 blocks coded, chroma doubled; on any device.

ITU-T T.81: the 8×8 cosine transform, divided by the steps of a table and rounded. `jpeg_rows` does the same on a CPU,
bit for bit, since every number is a multiple of a power of two and every sum exact (`jpeg`).
"""

from __future__ import annotations

import math
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor

from brittle.constants import constant


@lru_cache(maxsize=8)
def basis(device: torch.device) -> Tensor:
    """The transform (64 pixels, 64 frequencies), rounded to 13 bits."""
    with torch.inference_mode(False):
        place, frequency = torch.arange(8, dtype=torch.float64), torch.arange(8, dtype=torch.float64)
        cosines = 0.5 * torch.cos((2 * place + 1) * frequency[:, None] * math.pi / 16)
        cosines[0] /= math.sqrt(2)
        both = torch.kron(cosines, cosines).T.contiguous()
        return ((both * 2**13).round() / 2**13).float().to(device)


def halved(planes: Tensor) -> Tensor:
    """planes (B, P, H, W), H and W even → (B, P, H / 2, W / 2), means of four rounded to whole numbers."""
    # libjpeg rounds alternately up and down, so that means do not drift.
    bias = constant((0.25, 0.5), planes.device, planes.dtype).repeat(planes.shape[-1] // 4)
    return (F.avg_pool2d(planes, 2) + bias).floor_()


def coded(planes: Tensor, steps: Tensor) -> Tensor:
    """planes (B, P, H, W), H and W multiples of 8; steps (B, 64) → the planes after quantisation."""
    count, channels, height, width = planes.shape
    by_frequency = basis(planes.device)
    blocks = planes.view(count, channels, height // 8, 8, width // 8, 8).permute(0, 1, 2, 4, 3, 5).reshape(-1, 64)
    frequencies = (blocks @ by_frequency).view(count, -1, 64)
    frequencies.div_(steps[:, None])
    # Halves are common, since pixels are whole; libjpeg rounds them away from zero.
    frequencies.add_(frequencies.sign().mul_(0.5)).trunc_().mul_(steps[:, None])
    blocks = (frequencies.view(-1, 64) @ by_frequency.T).view(count, channels, height // 8, width // 8, 8, 8)
    return blocks.permute(0, 1, 2, 4, 3, 5).reshape(count, channels, height, width)


def doubled(planes: Tensor) -> Tensor:
    """planes (B, P, H, W) → (B, P, 2 · H, 2 · W) by libjpeg's triangle filter, rounded."""
    return F.interpolate(planes, scale_factor=2, mode="bilinear").round_()
