"""Blur from a moving camera: along a line, and zooming in (ImageNet-C's motion_blur and zoom_blur)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from brittle.constants import constant
from brittle.nuisances import register
from brittle.nuisances.base.corruption import Corruption, PixelSizedCorruption
from brittle.nuisances.base.levels import at_level, strengths
from brittle.nuisances.ops.draw_out import draw_out, longest_streak
from brittle.nuisances.ops.pieces import on_host
from brittle.nuisances.ops.zoom import mean_zoom, mean_zoom_by_rows
from brittle.registry import option

MOTION_LENGTH = (0.0, 20.0, 30.0, 30.0, 30.0, 40.0)
MOTION_SIGMA = (0.0, 3.0, 5.0, 8.0, 12.0, 15.0)
ZOOM = (0.0, 0.10, 0.15, 0.20, 0.24, 0.30)
ZOOMS = 11
STILL = 2  # ImageNet-C counts the image and its enlargement by 1 separately: the sharp image has twice the weight


@register("motion-blur")
@dataclass(frozen=True)
class MotionBlur(PixelSizedCorruption):
    """Motion blur along a line. Prior: level = level·exp(spread·z), z ~ N(0, 1); direction ~ U(−turn, turn).

    Every point becomes a streak that fades as half a Gaussian: standard deviations of 3, 5, 8, 12 and 15 pixels of 224
    over lengths of 20, 30, 30, 30 and 40 at levels 1 to 5 (ImageNet-C), at most half the shorter side. Direction 0°
    stretches points to the left, 90° up; edge pixels repeat outside. ImageNet-C shifts by whole pixels, this by
    fractions. Severity multiplies the level; the direction stays the same."""

    turn: float = option(
        45.0, "how far the direction turns from the horizontal, in degrees; 180 for every direction", above=0, most=180
    )

    parameters: ClassVar = ("level", "direction")
    piece: ClassVar = 600_000

    def ranges(self) -> Sequence[tuple[float, float]]:
        return ((-self.turn, self.turn),)

    def corrupt(self, images: Tensor, level: Tensor, rest: Tensor) -> Tensor:
        pixels = self.pixels(*images.shape[-2:])
        length, sigma = strengths(level, MOTION_LENGTH, MOTION_SIGMA)
        return draw_out(images, length * pixels, sigma * pixels, rest[:, 0] + 180)

    def picture(self, height: int, width: int) -> str:
        pixels = self.pixels(height, width)
        length = min(at_level(MOTION_LENGTH, self.level) * pixels, longest_streak(height, width))
        sigma = at_level(MOTION_SIGMA, self.level) * pixels
        return f"streaks {length:.2g} pixels long that fade with a standard deviation of {sigma:.2g} pixels"


@register("zoom-blur")
@dataclass(frozen=True)
class ZoomBlur(Corruption):
    """A zoom during the exposure. Prior: level = level·exp(spread·z), z ~ N(0, 1).

    The mean of the image and of eleven enlargements about its centre, up to 10, 15, 20, 24 and 30 % at levels 1 to 5
    (ImageNet-C, which takes 11 to 16 of them). Severity multiplies the level."""

    def prepare(self, images: Tensor, level: Tensor, rest: Tensor) -> tuple[Tensor, Tensor]:
        """Levels, and by how much of its side each enlargement shrinks what it shows (B, K)."""
        most = strengths(level, ZOOM)[0]
        steps = constant(tuple(step / (ZOOMS - 1) for step in range(1, ZOOMS)), images.device, images.dtype)
        return level, 1 / (1 + most[:, None] * steps)

    def corrupt(self, images: Tensor, level: Tensor, rest: Tensor) -> Tensor:
        return mean_zoom(images, rest, STILL)

    def corrupt_into(self, place: Tensor, images: Tensor, level: Tensor, rest: Tensor) -> None:
        if on_host(images, rest) and images.dtype == torch.float32:
            mean_zoom_by_rows(images, rest, STILL, place)
        else:
            super().corrupt_into(place, images, level, rest)

    def picture(self, height: int, width: int) -> str:
        share = at_level(ZOOM, self.level)
        pixels = share * width / 2
        return f"a zoom by up to {100 * share:.0f} %, which blurs the left and right edges over {pixels:.2g} pixels"
