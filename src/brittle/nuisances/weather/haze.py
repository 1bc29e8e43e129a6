"""Smog, dust and sandstorm: light lost and light added on the way from the scene to the camera.

No public benchmark defines these. The model is Koschmieder's (1924): x ← x·t + A·(1 − t), with A the colour of the
lit air and t = exp(−b·d) the share of light that arrives. The depth d is unknown; it is replaced by clouds with mean
about 1, denser towards the top of the image, where the horizon and the sky tend to be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from brittle.nuisances import register
from brittle.nuisances.base.corruption import Corruption, PixelSizedCorruption, field_keys
from brittle.nuisances.base.levels import at_level, strengths
from brittle.nuisances.base.seeds import SEED_NAMES
from brittle.nuisances.ops.plasma import plasma
from brittle.nuisances.ops.streaks import Streaks
from brittle.nuisances.ops.tints import Colour, tint
from brittle.random import uniform_field

PARTICLES = 512


def veil(images: Tensor, density: Tensor, clouds: Tensor, colour: Colour) -> Tensor:
    """Koschmieder's model: density (B,), clouds (B, H, W) in [0, 1] → images (B, C, H, W)."""
    height = images.shape[-2]
    higher = torch.linspace(0.25, -0.25, height, dtype=images.dtype, device=images.device)[:, None]
    depth = 0.5 + clouds + higher
    lost = -torch.expm1(-density[:, None, None] * depth)
    return torch.lerp(images, tint(colour, images), lost[:, None])


def particles(
    keys: Tensor, size: tuple[int, int], pixels: float, length: float, degrees: Tensor, jitter: float
) -> Tensor:
    """PARTICLES streaks at random places on images 224 pixels wide, fewer on smaller ones → (B, H, W).

    Each is 0.5 to 1.5 times `length` long, and its direction deviates from (B,) by up to `jitter` degrees."""
    height, width = size
    count = max(round(PARTICLES * min(pixels, 1.0)), 1)
    x, y, light, turn = uniform_field(keys, 4 * count).to(degrees.dtype).view(-1, 4, count).unbind(1)
    angle = (degrees[:, None] + (turn - 0.5) * (2 * jitter)) * (math.pi / 180)
    reach = (0.5 + light) * max(length * pixels, 1.0)
    marks = Streaks(x * width, y * height, reach * torch.cos(angle), reach * torch.sin(angle), light)
    return marks.draw(height, width, 1.5 * max(length * pixels, 1.0))


@register("smog")
@dataclass(frozen=True)
class Smog(Corruption):
    """Smog: an even, yellowish grey haze. Prior: level = level·exp(spread·z), z ~ N(0, 1); seed uniform.

    Koschmieder's model with optical density 0.3, 0.55, 0.8, 1.1 and 1.5 at levels 1 to 5 (this package's own) under
    wide soft clouds made from the seed. Severity multiplies the level; the seed stays the same."""

    parameters: ClassVar = ("level", *SEED_NAMES)

    COLOUR: ClassVar[Colour] = (0.70, 0.67, 0.58)
    DENSITY: ClassVar = (0.0, 0.3, 0.55, 0.8, 1.1, 1.5)

    def corrupt(self, images: Tensor, level: Tensor, rest: Tensor) -> Tensor:
        clouds = plasma(field_keys(rest, 0), torch.full_like(level, 2.2), *images.shape[-2:])
        return veil(images, strengths(level, self.DENSITY)[0], clouds, self.COLOUR)

    def picture(self, height: int, width: int) -> str:
        return f"smog through which {100 * math.exp(-at_level(self.DENSITY, self.level)):.0f} % of the light arrives"


@register("dust")
@dataclass(frozen=True)
class Dust(PixelSizedCorruption):
    """Dust in the air: a thin tan haze and specks. Prior: level = level·exp(spread·z), z ~ N(0, 1); seed uniform.

    Koschmieder's model with optical density 0.2, 0.4, 0.6, 0.8 and 1.1 at levels 1 to 5, and up to 512 bright specks
    of two to six pixels of 224, whose light grows from 0.3 to 0.9 (all this package's own), made from the seed.
    Severity multiplies the level; the seed stays the same."""

    parameters: ClassVar = ("level", *SEED_NAMES)

    COLOUR: ClassVar[Colour] = (0.76, 0.66, 0.49)
    DENSITY: ClassVar = (0.0, 0.2, 0.4, 0.6, 0.8, 1.1)
    LIGHT: ClassVar = (0.0, 0.3, 0.45, 0.6, 0.75, 0.9)

    def corrupt(self, images: Tensor, level: Tensor, rest: Tensor) -> Tensor:
        size = (images.shape[-2], images.shape[-1])
        density, light = strengths(level, self.DENSITY, self.LIGHT)
        clouds = plasma(field_keys(rest, 0), torch.full_like(level, 1.7), *size)
        hazy = veil(images, density, clouds, self.COLOUR)
        specks = particles(field_keys(rest, 1), size, self.pixels(*size), 4.0, torch.zeros_like(level), jitter=180.0)
        specks = (specks * light[:, None, None]).clamp(max=1)
        return torch.lerp(hazy, tint((0.95, 0.88, 0.74), images), specks[:, None])

    def picture(self, height: int, width: int) -> str:
        return f"dust through which {100 * math.exp(-at_level(self.DENSITY, self.level)):.0f} % of the light arrives"


@register("sandstorm")
@dataclass(frozen=True)
class Sandstorm(PixelSizedCorruption):
    """A sandstorm: dense orange clouds and grains in the wind. Prior: level = level·exp(spread·z), z ~ N(0, 1);
    direction of the wind ~ U(−20°, 20°) from the horizontal; seed uniform, from which clouds and grains are made.

    Koschmieder's model with optical density 0.4, 0.75, 1.1, 1.5 and 2 at levels 1 to 5 under rough clouds, and 512
    streaks of sand 8 to 24 pixels of 224 long whose strength grows from 0.2 to 0.6 (all this package's own). Severity
    multiplies the level; direction and seed stay the same."""

    parameters: ClassVar = ("level", "direction", *SEED_NAMES)

    COLOUR: ClassVar[Colour] = (0.80, 0.56, 0.29)
    DENSITY: ClassVar = (0.0, 0.4, 0.75, 1.1, 1.5, 2.0)
    GRAINS: ClassVar = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6)

    def ranges(self) -> Sequence[tuple[float, float]]:
        return ((-20.0, 20.0),)

    def corrupt(self, images: Tensor, level: Tensor, rest: Tensor) -> Tensor:
        size = (images.shape[-2], images.shape[-1])
        density, strength = strengths(level, self.DENSITY, self.GRAINS)
        clouds = plasma(field_keys(rest, 0), torch.full_like(level, 1.45), *size)
        hazy = veil(images, density, clouds, self.COLOUR)
        sand = particles(field_keys(rest, 1), size, self.pixels(*size), 16.0, rest[:, 0], jitter=5.0)
        sand = (sand * strength[:, None, None]).clamp(max=1)
        return torch.lerp(hazy, tint((0.93, 0.74, 0.46), images), sand[:, None])

    def picture(self, height: int, width: int) -> str:
        return f"sand through which {100 * math.exp(-at_level(self.DENSITY, self.level)):.0f} % of the light arrives"
