"""Rain: falling streaks of light and a grey veil. The model is this package's own; ImageNet-C has no rain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from brittle.nuisances import register
from brittle.nuisances.corruption import PixelSized, field_keys, per_image
from brittle.nuisances.haze import tint
from brittle.nuisances.levels import at_level, strengths
from brittle.nuisances.streaks import Streaks
from brittle.random import uniform_field

DROPS = (0.0, 100.0, 170.0, 240.0, 310.0, 400.0)
MOST_DROPS = 512
LENGTH = (14.0, 14.0, 17.0, 20.0, 23.0, 26.0)
LIGHT = (0.35, 0.35, 0.4, 0.45, 0.5, 0.55)
VEIL = (0.0, 0.06, 0.12, 0.18, 0.24, 0.32)
LONGEST = 30.0


@register("rain")
@dataclass(frozen=True)
class Rain(PixelSized):
    """Rain. Prior: level = level·exp(spread·z), z ~ N(0, 1); direction ~ U(70°, 110°), 90° being straight down; seed
    uniform, from which the drops are made.

    100, 170, 240, 310 and 400 drops (at most 512) at levels 1 to 5, each a light streak 14 to 26 pixels of 224 long
    that fades towards its ends, over an image that fades by 6 to 32 % into grey (all this package's own). Drops appear
    one after the other as the level rises. Severity multiplies the level; direction and seed stay."""

    parameters: ClassVar = ("level", "direction", "seed")

    def ranges(self) -> Sequence[tuple[float, float]]:
        return ((70.0, 110.0),)

    def corrupt(self, images: Tensor, level: Tensor, rest: Tensor) -> Tensor:
        size = (images.shape[-2], images.shape[-1])
        drops, length, light, veiled = strengths(level, DROPS, LENGTH, LIGHT, VEIL)
        pixels = self.pixels(*size)
        # A drop is never thinner than a pixel, so a small image that would drown in 400 gets fewer.
        most = max(round(MOST_DROPS * min(pixels, 1.0)), 1)
        x, y, nearness, turn = uniform_field(field_keys(rest, 0), 4 * most).to(images.dtype).view(-1, 4, most).unbind(1)
        drops = drops * min(pixels, 1.0)
        visible = (drops[:, None] - torch.arange(most, dtype=images.dtype, device=images.device)).clamp(0, 1)
        angle = (rest[:, :1] + 6 * (turn - 0.5)) * (math.pi / 180)
        reach = (length.clamp(max=LONGEST) * pixels).clamp(min=1.0)[:, None] * (0.5 + nearness)
        light = visible * light[:, None] * (0.5 + nearness)
        if images.device.type == "cpu":  # where it costs nothing to see how many are wanted, no others are drawn
            wanted = int(drops.detach().max()) + 1
            x, y, reach, angle, light = (each[:, :wanted] for each in (x, y, reach, angle, light))
        marks = Streaks(x * size[1], y * size[0], reach * angle.cos(), reach * angle.sin(), light)
        fall = marks.draw(*size, longest=1.5 * max(LONGEST * pixels, 1.0))
        grey = torch.lerp(images, tint((0.55, 0.57, 0.60), images), per_image(veiled))
        return torch.lerp(grey, tint((0.86, 0.88, 0.92), images), fall.clamp(max=0.9)[:, None])

    def picture(self, height: int, width: int) -> str:
        drops = min(at_level(DROPS, self.level), MOST_DROPS) * min(self.pixels(height, width), 1.0)
        length = at_level(LENGTH, self.level) * self.pixels(height, width)
        return f"{drops:.0f} drops, drawn out over about {length:.2g} pixels,"
