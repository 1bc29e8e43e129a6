"""An image behind frosted glass (ImageNet-C's glass_blur): blur, displacement of pixels, blur."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import scipy.special
import torch
from torch import Tensor

from brittle.cached import table
from brittle.nuisances import register
from brittle.nuisances.base.corruption import PixelSizedCorruption, field_keys
from brittle.nuisances.base.levels import at_level, strengths
from brittle.nuisances.base.seeds import SEED_NAMES
from brittle.nuisances.ops.separable import gaussian_blur, gaussian_rows
from brittle.random import bits

BLUR = (0.0, 0.7, 0.9, 1.0, 1.1, 1.5)
DISPLACEMENT = (0.0, 1.78, 1.84, 3.18, 3.64, 4.72)
GRAINS = 2**16


@table(8)
def _quantiles(dtype: torch.dtype, device: torch.device) -> Tensor:
    """(GRAINS,): quantiles of a Gamma(2) distribution, standardised to mean 0 and variance 1."""
    with torch.inference_mode(False):
        shares = (torch.arange(GRAINS, dtype=torch.float64) + 0.5) / GRAINS
        quantiles = torch.from_numpy(scipy.special.gammaincinv(2.0, shares.numpy()))
        return ((quantiles - 2) / 2**0.5).to(dtype=dtype, device=device)


def displacements(keys: Tensor, count: int, dtype: torch.dtype) -> Tensor:
    """keys (B,) → (B, count) standard displacements; sixteen bits each are plenty, so one 64-bit draw gives four."""
    words = bits(keys, -(-count // 4)).view(torch.int16)[:, :count]
    places = words.to(torch.int32).add_(GRAINS // 2)
    return _quantiles(dtype, keys.device).index_select(0, places.flatten()).view(places.shape)


@register("glass-blur")
@dataclass(frozen=True)
class GlassBlur(PixelSizedCorruption):
    """Frosted glass. Prior: level = level·exp(spread·z), z ~ N(0, 1); seed uniform, from which the field is made.

    Gaussian blur, then every pixel takes the value of a nearby one, then the same blur again. Blur of 0.7, 0.9, 1, 1.1
    and 1.5 pixels of 224 at levels 1 to 5 as in ImageNet-C. ImageNet-C swaps pixels one after the other in a scan,
    which can't be batched and carries some of them far; here each pixel's source is drawn independently, with the same
    spread across and down (1.8, 1.8, 3.2, 3.6 and 4.7 pixels, measured on 224×224) and a similar skew. Severity
    multiplies the level; the seed stays the same."""

    parameters: ClassVar = ("level", *SEED_NAMES)
    differentiable: ClassVar = False
    traceable: ClassVar = False  # a table by scipy

    def corrupt(self, images: Tensor, level: Tensor, rest: Tensor) -> Tensor:
        count, channels, height, width = images.shape
        blur, displacement = (s * self.pixels(height, width) for s in strengths(level, BLUR, DISPLACEMENT))
        offsets = displacements(field_keys(rest, 0), 2 * height * width, images.dtype)
        offsets = (offsets.view(count, 2, height, width) * displacement[:, None, None, None]).round_().to(torch.int64)
        rows = torch.arange(height, device=images.device)[:, None] + offsets[:, 0]
        columns = torch.arange(width, device=images.device) + offsets[:, 1]
        sources = (rows.clamp_(0, height - 1) * width).add_(columns.clamp_(0, width - 1)).view(count, 1, -1)
        near = gaussian_rows(images, blur)
        blurred = gaussian_blur(images, blur, near).view(count, channels, -1)
        shuffled = blurred.gather(2, sources.expand(-1, channels, -1)).view_as(images)
        return gaussian_blur(shuffled, blur, near)

    def picture(self, height: int, width: int) -> str:
        away = at_level(DISPLACEMENT, self.level) * self.pixels(height, width)
        return f"pixels that take the place of others {away:.2g} pixels away across and down (standard deviation)"
