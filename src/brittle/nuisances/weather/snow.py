"""Snow (ImageNet-C's snow): a whitened image under flakes that the wind draws out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from brittle.nuisances import register
from brittle.nuisances.base.corruption import PixelSizedCorruption, field_keys
from brittle.nuisances.base.levels import at_level, strengths
from brittle.nuisances.base.seeds import SEED_NAMES
from brittle.nuisances.ops.broadcast import per_image
from brittle.nuisances.ops.draw_out import draw_out
from brittle.nuisances.ops.tints import grey
from brittle.nuisances.ops.warp import warp
from brittle.random import normal_field

# Mean of the noise, its zoom, and the threshold above which it is a flake; length and fading of the streaks; the share
# of the image that is kept; and the share of the flakes that fall, which is new here and matters only below level 1.
MEAN = (0.1, 0.1, 0.2, 0.55, 0.55, 0.55)
FLAKE = (3.0, 3.0, 2.0, 4.0, 4.5, 2.5)
THRESHOLD = (0.5, 0.5, 0.5, 0.9, 0.85, 0.85)
LENGTH = (20.0, 20.0, 24.0, 24.0, 24.0, 24.0)
SIGMA = (4.0, 4.0, 4.0, 8.0, 8.0, 12.0)
KEPT = (1.0, 0.8, 0.7, 0.7, 0.65, 0.55)
FALLING = (0.0, 1.0, 1.0, 1.0, 1.0, 1.0)
NOISE = 0.3
SMALLEST_FLAKE = 2.0


@register("snow")
@dataclass(frozen=True)
class Snow(PixelSizedCorruption):
    """Snowfall. Prior: level = level·exp(spread·z), z ~ N(0, 1); direction ~ U(45°, 135°), where 90° is straight down;
    seed uniform, from which the flakes are made.

    As in ImageNet-C: noise enlarged 2 to 4.5 times and thresholded into flakes, which are drawn out by motion blur and
    laid over the image upright and upside down; the image itself fades into a whitened grey one. If an image is so
    small that flakes would be thinner than a pixel, they blend into their mean. Below level 1 the flakes of level 1
    fade in. Severity multiplies the level; direction and seed stay the same."""

    parameters: ClassVar = ("level", "direction", *SEED_NAMES)
    differentiable: ClassVar = False

    def ranges(self) -> Sequence[tuple[float, float]]:
        return ((45.0, 135.0),)

    def corrupt(self, images: Tensor, level: Tensor, rest: Tensor) -> Tensor:
        height, width = images.shape[-2:]
        pixels = self.pixels(height, width)
        mean, flake, threshold, length, sigma, kept, falling = strengths(
            level, MEAN, FLAKE, THRESHOLD, LENGTH, SIGMA, KEPT, FALLING
        )
        noise = normal_field(field_keys(rest, 0), height * width).to(images.dtype).view(-1, 1, height, width)
        noise = noise.mul_(NOISE).add_(per_image(mean))
        size = flake.clamp(min=SMALLEST_FLAKE) * pixels
        shrink = 1 / size.clamp(min=1)
        enlarge = torch.diag_embed(shrink[:, None].expand(-1, 2))
        noise = warp(noise, torch.cat((enlarge, torch.zeros_like(enlarge[..., :1])), -1), "edge")
        flakes = torch.where(noise < per_image(threshold), 0.0, noise).clamp_(0, 1)
        # Flakes smaller than a pixel are not visible individually: their mean is.
        flakes = torch.lerp(flakes.mean((2, 3), keepdim=True), flakes, per_image(size.clamp(max=1)))
        flakes = draw_out(flakes, length * pixels, sigma * pixels, rest[:, 0]) * per_image(falling)
        white = torch.maximum(images, grey(images).mul_(1.5).add_(0.5))
        return torch.lerp(white, images, per_image(kept)).add_(flakes).add_(flakes.flip(2, 3))

    def picture(self, height: int, width: int) -> str:
        size = max(max(at_level(FLAKE, self.level), SMALLEST_FLAKE) * self.pixels(height, width), 1.0)
        return f"flakes about {size:.2g} pixels wide before the wind draws them out"
