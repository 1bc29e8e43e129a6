"""Rain: falling streaks of light and a grey veil. The model is this package's own; ImageNet-C has no rain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from brittle.device import inspectable
from brittle.nuisances import register
from brittle.nuisances.base.corruption import PixelSizedCorruption, field_keys
from brittle.nuisances.base.levels import at_level, strengths
from brittle.nuisances.base.seeds import SEED_NAMES
from brittle.nuisances.ops.broadcast import per_image
from brittle.nuisances.ops.streaks import Streaks
from brittle.nuisances.ops.tints import Colour, tint
from brittle.random import uniform_field

DROPS = (0.0, 100.0, 170.0, 240.0, 310.0, 400.0)
MOST_DROPS = 512
LENGTH = (14.0, 14.0, 17.0, 20.0, 23.0, 26.0)
LIGHT = (0.35, 0.35, 0.4, 0.45, 0.5, 0.55)
VEIL = (0.0, 0.06, 0.12, 0.18, 0.24, 0.32)
LONGEST = 30.0
GREY: Colour = (0.55, 0.57, 0.60)
WHITE: Colour = (0.86, 0.88, 0.92)


@register("rain")
@dataclass(frozen=True)
class Rain(PixelSizedCorruption):
    """Rain. Prior: level = level·exp(spread·z), z ~ N(0, 1); direction ~ U(70°, 110°), where 90° is straight down; seed
    uniform, from which the drops are made.

    100, 170, 240, 310 and 400 drops (at most 512) at levels 1 to 5, each a light streak 14 to 26 pixels of 224 long (at
    most 30) that fades towards its ends, over an image that fades by 6 to 32 % into grey (all this package's own).
    Drops appear one after the other as the level rises. Severity multiplies the level; the rest stays the same."""

    parameters: ClassVar = ("level", "direction", *SEED_NAMES)
    piece: ClassVar = 600_000  # so little arithmetic per value that the caches decide

    def ranges(self) -> Sequence[tuple[float, float]]:
        return ((70.0, 110.0),)

    def prepare(self, images: Tensor, level: Tensor, rest: Tensor) -> tuple[Tensor, Tensor]:
        """The veil (B,), and the drops (B, 5, N) as the numbers of their streaks."""
        height, width = images.shape[-2:]
        drops, length, light, veiled = strengths(level, DROPS, LENGTH, LIGHT, VEIL)
        pixels = self.pixels(height, width)
        # A drop is never thinner than a pixel, so a small image, which would drown in 400, gets fewer.
        share = min(pixels, 1.0)
        most, drops = max(round(MOST_DROPS * share), 1), drops * share
        if inspectable(images):  # checking how many are wanted costs nothing here, so no others are made
            most = min(most, int(drops.detach().max()) + 1)
        x, y, nearness, turn = uniform_field(field_keys(rest, 0), 4 * most).to(images.dtype).view(-1, most, 4).unbind(2)
        visible = (drops[:, None] - torch.arange(most, dtype=images.dtype, device=images.device)).clamp(0, 1)
        angle = (rest[:, :1] + 6 * (turn - 0.5)) * (math.pi / 180)
        reach = (length.clamp(max=LONGEST) * pixels).clamp(min=1.0)[:, None] * (0.5 + nearness)
        light = visible * light[:, None] * (0.5 + nearness)
        streaks = Streaks(x * width, y * height, reach * angle.cos(), reach * angle.sin(), light)
        return veiled.clamp(max=1), torch.stack(streaks, 1)

    def corrupt(self, images: Tensor, level: Tensor, rest: Tensor) -> Tensor:
        height, width = images.shape[-2:]
        veiled, streaks = per_image(level), Streaks(*rest.unbind(1))
        longest = 1.5 * max(LONGEST * self.pixels(height, width), 1.0)
        fall = streaks.draw(height, width, longest).clamp(max=0.9)[:, None]
        # lerp(lerp(x, grey, veiled), white, fall), in a form that takes only three passes over the colours.
        haze = tint(GREY, images) * veiled
        kept = torch.addcmul(1 - veiled, fall, veiled - 1)
        return (images * kept).addcmul_(fall, tint(WHITE, images) - haze).add_(haze)

    def picture(self, height: int, width: int) -> str:
        pixels = self.pixels(height, width)
        drops = max(round(min(at_level(DROPS, self.level), MOST_DROPS) * min(pixels, 1.0)), 1)
        length = max(min(at_level(LENGTH, self.level), LONGEST) * pixels, 1.0)
        return f"{drops} drop{'s' if drops > 1 else ''}, drawn out over about {length:.2g} pixels,"
