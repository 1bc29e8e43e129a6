"""Convolution with one kernel per image: by Fourier transform, or directly if kernels are known to be small.

A kernel is drawn on a canvas with its centre at the corner (0, 0) and negative places at the far ends. With the Fourier
transform the cost hardly depends on the kernel's reach, so nothing about θ needs to be known on the host. On the CPU,
where inspecting θ costs nothing, the canvas is only as large as the kernels need, and small kernels are applied
directly.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal, NamedTuple

import scipy.fft
import torch
import torch.nn.functional as F
from torch import Tensor

from brittle.cached import cached, table
from brittle.device import inspectable

Border = Literal["edge", "mirror"]

_PADDING: dict[Border, str] = {"edge": "replicate", "mirror": "reflect"}
_MOST_DIRECT_TAPS = 250  # from where on a CPU is faster by Fourier transform, given sixteen planes or more


class Canvas(NamedTuple):
    """Where a kernel is drawn, and how far the image is padded for it."""

    height: int
    width: int
    padding: tuple[int, int, int, int]  # left, right, top, bottom
    direct: bool

    def distances(self, like: Tensor) -> Tensor:
        """(height, width): the distance of each place of the canvas from the kernel's centre."""
        return _distances(self.height, self.width, like.dtype, like.device)


def longest_reach(height: int, width: int) -> int:
    """A quarter of the shorter side: how far a kernel may reach before it wraps around the border."""
    return max(min(height, width) // 4, 1)


def canvas_for(height: int, width: int, x: Tensor, y: Tensor, reach: int) -> Canvas:
    """A canvas for images of this size and kernels with places x and y, in pixels, none further than `reach`. On a
    device, where inspecting x and y would mean waiting, it always has room for `reach`."""
    if not inspectable(x):
        return _fourier_canvas(height, width, (reach, reach, reach, reach))
    (left, right), (top, bottom) = (_extent(places) for places in (x, y))
    padding = (right, -left, bottom, -top)
    tall, wide = bottom - top + 1, right - left + 1
    if tall * wide <= _MOST_DIRECT_TAPS:
        return Canvas(tall, wide, padding, direct=True)
    return _fourier_canvas(height, width, padding)


def _extent(places: Tensor) -> tuple[int, int]:
    """The range of whole pixels that encloses 0 and all places."""
    low, high = places.detach().aminmax()
    return min(math.floor(low), 0), max(math.floor(high) + 1, 0)


@lru_cache(maxsize=256)
def _fourier_canvas(height: int, width: int, padding: tuple[int, int, int, int]) -> Canvas:
    left, right, top, bottom = padding
    tall, wide = _fast_length(height + top + bottom), _fast_length(width + left + right)
    return Canvas(tall, wide, (left, wide - width - left, top, tall - height - top), direct=False)


@cached(256)
def _fast_length(least: int) -> int:
    return int(scipy.fft.next_fast_len(least, real=True))


@table(64)
def _distances(height: int, width: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    with torch.inference_mode(False):  # cached for later calls, some of which need gradients
        down, across = (torch.fft.fftfreq(side, 1 / side, dtype=torch.float64) for side in (height, width))
        return torch.hypot(down[:, None], across).to(dtype=dtype, device=device)


def convolve(images: Tensor, kernels: Tensor, canvas: Canvas, border: Border) -> Tensor:
    """images (B, C, H, W), kernels (B, h, w) on the canvas → (B, C, H, W): Σ_d k(d)·x(u − d)."""
    padded = F.pad(images, canvas.padding, mode=_PADDING[border])
    if canvas.direct:
        return _convolve_directly(padded, kernels, canvas)
    height, width = images.shape[-2:]
    left, _, top, _ = canvas.padding
    spectrum = torch.fft.rfft2(padded) * torch.fft.rfft2(kernels[:, None])
    filtered: Tensor = torch.fft.irfft2(spectrum, s=(canvas.height, canvas.width))
    return filtered[..., top : top + height, left : left + width]


def _convolve_directly(padded: Tensor, kernels: Tensor, canvas: Canvas) -> Tensor:
    """One group per image and channel; conv2d correlates, so the kernel is reversed."""
    count, channels, height, width = padded.shape
    right, left, bottom, top = canvas.padding
    rows, columns = (
        torch.arange(high, -low - 1, -1, device=kernels.device) % (high + low + 1)
        for high, low in ((bottom, top), (right, left))
    )
    backwards = kernels.index_select(1, rows).index_select(2, columns)
    groups = count * channels
    weight = backwards[:, None].expand(-1, channels, -1, -1).reshape(groups, 1, canvas.height, canvas.width)
    filtered = F.conv2d(padded.view(1, groups, height, width), weight, groups=groups)
    return filtered.view(count, channels, *filtered.shape[-2:])
