"""Frost on the glass, after ImageNet-C's frost, with ice that is drawn rather than photographed.

ImageNet-C adds a crop of one of five photographs of ice, which can't be distributed with this package. Here needles of
ice fan out from seeds on the pane, over soft clouds; brightness, colour and contrast are those of the photographs
(mean 0.57, 0.65, 0.69 in red, green and blue; grey values from 0.45 to 0.8 between photographs; contrast about 0.1).
"""

from __future__ import annotations

import math
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
from brittle.nuisances.ops.plasma import plasma
from brittle.nuisances.ops.streaks import Streaks
from brittle.nuisances.ops.tints import tint
from brittle.random import uniform_field

KEPT = (1.0, 1.0, 0.8, 0.7, 0.65, 0.6)
ICE = (0.0, 0.4, 0.6, 0.7, 0.7, 0.75)
FANS, NEEDLES = 64, 20


def ice(keys: Sequence[Tensor], like: Tensor, pixels: float) -> Tensor:
    """Grey ice (B, H, W) for images like these, from three keys (B,) per image; `pixels` of theirs are one of 224."""
    height, width = like.shape[-2:]
    clouds = plasma(keys[0], like.new_full((len(like),), 1.6), height, width)
    x, y, side, shade = uniform_field(keys[1], 4 * FANS).to(like.dtype).view(-1, 4, FANS, 1).unbind(1)
    numbers = uniform_field(keys[2], 4 * FANS * NEEDLES).to(like.dtype)
    turn, length, along, light = numbers.view(-1, 4, FANS, NEEDLES).unbind(1)
    # A fan is a stem with needles branching off at ±60°, the angle of ice crystals, at random places along it.
    stem = side * (2 * math.pi)
    branch = stem + torch.where(turn < 0.5, -1.0, 1.0) * (math.pi / 3) * (0.6 + 0.4 * length)
    start_x = x * width + along * 60 * pixels * stem.cos()
    start_y = y * height + along * 60 * pixels * stem.sin()
    reach = (6 + 30 * length * (1 - 0.6 * along)) * pixels
    # Needles are at least a pixel wide: on small images, where they would cover everything, they are fainter instead.
    light = (0.2 + 0.5 * light) * min(pixels, 1.0)
    needles = (start_x, start_y, reach * branch.cos(), reach * branch.sin(), light)
    drawn = Streaks(*(each.flatten(1) for each in needles)).draw(height, width, 36 * pixels)
    base = 0.36 + 0.38 * shade[:, :1]
    return (base + 0.3 * (clouds - 0.5) + 0.5 * drawn.clamp(max=1)).clamp(0, 1)


@register("frost")
@dataclass(frozen=True)
class Frost(PixelSizedCorruption):
    """Frost on the glass. Prior: level = level·exp(spread·z), z ~ N(0, 1); seed uniform, from which the ice is made.

    x ← a·x + b·ice with a = 1, 0.8, 0.7, 0.65, 0.6 and b = 0.4, 0.6, 0.7, 0.7, 0.75 at levels 1 to 5 (ImageNet-C).
    The ice is drawn, not photographed: see this file. Severity multiplies the level; the seed stays the same."""

    parameters: ClassVar = ("level", *SEED_NAMES)

    def corrupt(self, images: Tensor, level: Tensor, rest: Tensor) -> Tensor:
        kept, amount = strengths(level, KEPT, ICE)
        keys = [field_keys(rest, stream) for stream in range(3)]
        pane = ice(keys, images, self.pixels(*images.shape[-2:]))
        coloured = pane[:, None] * tint((0.88, 1.01, 1.08), images)
        return images * per_image(kept.clamp(min=0)) + coloured * per_image(amount)

    def picture(self, height: int, width: int) -> str:
        return f"ice that keeps {100 * max(at_level(KEPT, self.level), 0):.0f} % of the image and adds its own light"
