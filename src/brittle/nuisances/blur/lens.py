"""Lens blur: Gaussian, and out of focus (ImageNet-C's gaussian_blur and defocus_blur)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from brittle.nuisances import register
from brittle.nuisances.base.corruption import PixelSizedCorruption
from brittle.nuisances.base.levels import at_level, strengths
from brittle.nuisances.ops.convolve import canvas_for, convolve, longest_reach
from brittle.nuisances.ops.separable import gaussian_blur, gaussian_rows

GAUSSIAN_SIGMA = (0.0, 1.0, 2.0, 3.0, 4.0, 6.0)
DEFOCUS_RADIUS = (0.0, 3.0, 4.0, 6.0, 8.0, 10.0)


@register("gaussian-blur")
@dataclass(frozen=True)
class GaussianBlur(PixelSizedCorruption):
    """Gaussian blur. Prior: level = level·exp(spread·z), z ~ N(0, 1).

    Standard deviations of 1, 2, 3, 4 and 6 pixels of 224 at levels 1 to 5 (ImageNet-C); edge pixels repeat outside.
    Severity multiplies the level: severity 1 is the drawn blur, severity 0 none."""

    piece: ClassVar = 450_000

    def prepare(self, images: Tensor, level: Tensor, rest: Tensor) -> tuple[Tensor, Tensor]:
        """σ (B,), and what rows weigh."""
        sigma = strengths(level, GAUSSIAN_SIGMA)[0] * self.pixels(*images.shape[-2:])
        return sigma, gaussian_rows(images, sigma)

    def corrupt(self, images: Tensor, level: Tensor, rest: Tensor) -> Tensor:
        return gaussian_blur(images, level, rest)

    def picture(self, height: int, width: int) -> str:
        sigma = at_level(GAUSSIAN_SIGMA, self.level) * self.pixels(height, width)
        return f"Gaussian blur with a standard deviation of {sigma:.2g} pixels"


@register("defocus-blur")
@dataclass(frozen=True)
class DefocusBlur(PixelSizedCorruption):
    """Out of focus: every point becomes a disk. Prior: level = level·exp(spread·z), z ~ N(0, 1).

    Disks of radius 3, 4, 6, 8 and 10 pixels of 224 at levels 1 to 5 (ImageNet-C), at most a quarter of the shorter
    side; the image is mirrored outside. ImageNet-C's disk has a hard rim, softened by a Gaussian of half a pixel; here
    the rim falls off over one pixel, so that every radius gives a different disk. Severity multiplies the level."""

    def corrupt(self, images: Tensor, level: Tensor, rest: Tensor) -> Tensor:
        height, width = images.shape[-2:]
        radius = strengths(level, DEFOCUS_RADIUS)[0] * self.pixels(height, width)
        radius = radius.clamp(max=longest_reach(height, width))
        both_ways = torch.stack((-radius, radius))
        canvas = canvas_for(height, width, both_ways, both_ways, longest_reach(height, width))
        away, radius = canvas.distances(images), radius[:, None, None]
        # A disk within one pixel would change nothing; its neighbours get as much weight as its variance r²/4 requires.
        disk = (radius + 0.5 - away).clamp(0, 1)
        within = (radius.square() / 8).clamp(max=0.05) * (radius + 0.5).clamp(max=1) * (away == 1)
        disk = torch.maximum(disk, within)
        return convolve(images, disk / disk.sum((1, 2), keepdim=True), canvas, "mirror")

    def picture(self, height: int, width: int) -> str:
        radius = min(at_level(DEFOCUS_RADIUS, self.level) * self.pixels(height, width), longest_reach(height, width))
        return f"disks with a radius of {radius:.2g} pixels"
