"""Noise that is independent from pixel to pixel and from channel to channel: Gaussian, speckle, uniform, impulse.

θ is the noise itself, C·H·W numbers, so that it has a density, gradients and a severity that multiplies it. With
`level` the strength is ImageNet-C's, piecewise linear between its levels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from brittle.errors import BrittleError
from brittle.nuisances import register
from brittle.nuisances.field import FieldNuisance
from brittle.nuisances.levels import LEVEL_HELP, at_level, check_strength, growth
from brittle.random import normal_field, uniform_field
from brittle.registry import option
from brittle.types import Batch

GAUSSIAN_SIGMA = (0.0, 0.08, 0.12, 0.18, 0.26, 0.38)
SPECKLE_SIGMA = (0.0, 0.15, 0.2, 0.35, 0.45, 0.6)
IMPULSE_AMOUNT = (0.0, 0.03, 0.06, 0.09, 0.17, 0.27)


@dataclass(frozen=True)
class GaussianField(FieldNuisance):
    """θ ~ N(0, σ²), independent numbers, with σ from `sigma` or from ImageNet-C's table."""

    sigma: float = option(0.1, "standard deviation of the noise")
    level: float | None = option(None, LEVEL_HELP + "`sigma`")

    table: ClassVar[tuple[float, ...]]

    def __post_init__(self) -> None:
        check_strength(self, "sigma")

    @property
    def strength(self) -> float:
        return self.sigma if self.level is None else at_level(self.table, self.level)

    def growth(self, factor: Tensor) -> Tensor:
        return growth(self.table, self.level, factor)

    def draw(self, keys: Tensor, count: int) -> Tensor:
        return normal_field(keys, count, self.strength)

    def push(self, z: Tensor, batch: Batch) -> Tensor:
        return self.strength * z

    def log_density(self, theta: Tensor) -> Tensor:
        return -0.5 * (theta / self.strength).square() - math.log(self.strength * math.sqrt(2 * math.pi))


@register("noise")
@dataclass(frozen=True)
class Noise(GaussianField):
    """Additive Gaussian noise, x + θ. Prior: each number of θ ~ N(0, sigma²), every pixel and channel by itself.

    Severity 1 is the drawn noise, severity 2 the same noise twice as strong; values are then cut off at 0 and 1.
    `level`: sigma is 0.08, 0.12, 0.18, 0.26 and 0.38 at ImageNet-C's levels 1 to 5 (gaussian_noise)."""

    sigma: float = option(0.1, "standard deviation of the noise, where white is 1")

    table: ClassVar = GAUSSIAN_SIGMA

    def change(self, images: Tensor, theta: Tensor) -> Tensor:
        return images + theta

    def describe(self, height: int, width: int) -> str:
        share = 100 * self.strength
        return f"noise with a standard deviation of {share:.3g} % of the range from black to white in every pixel"


@register("speckle")
@dataclass(frozen=True)
class Speckle(GaussianField):
    """Multiplicative noise, x·(1 + θ). Prior: each number of θ ~ N(0, sigma²), every pixel and channel by itself.

    Severity 1 is the drawn noise, severity 2 the same noise twice as strong; black stays black.
    `level`: sigma is 0.15, 0.2, 0.35, 0.45 and 0.6 at ImageNet-C's levels 1 to 5 (speckle_noise)."""

    sigma: float = option(0.2, "standard deviation of the noise, as a share of each pixel's own value")

    table: ClassVar = SPECKLE_SIGMA

    def change(self, images: Tensor, theta: Tensor) -> Tensor:
        return torch.addcmul(images, images, theta)

    def describe(self, height: int, width: int) -> str:
        return f"noise with a standard deviation of {100 * self.strength:.3g} % of each pixel's own value"


@register("uniform-noise")
@dataclass(frozen=True)
class UniformNoise(FieldNuisance):
    """Additive uniform noise, x + θ. Prior: each number of θ uniform from −width to width, independent.

    Severity 1 is the drawn noise, severity 2 the same noise twice as strong; values are then cut off at 0 and 1."""

    width: float = option(0.2, "the largest change of a pixel, where white is 1")

    def __post_init__(self) -> None:
        check_strength(self, "width")

    def draw(self, keys: Tensor, count: int) -> Tensor:
        return uniform_field(keys, count).sub_(0.5).mul_(2 * self.width)

    def push(self, z: Tensor, batch: Batch) -> Tensor:
        return self.width * torch.erf(z * math.sqrt(0.5))

    def log_density(self, theta: Tensor) -> Tensor:
        inside = torch.full_like(theta, -math.log(2 * self.width))
        return inside.masked_fill(theta.abs() > self.width, -math.inf)

    def change(self, images: Tensor, theta: Tensor) -> Tensor:
        return images + theta

    def describe(self, height: int, width: int) -> str:
        return f"noise of at most {100 * self.width:.3g} % of the range from black to white in every pixel"


@register("impulse")
@dataclass(frozen=True)
class Impulse(FieldNuisance):
    """Salt and pepper: a share of the values becomes 1 or 0. Prior: θ = amount/v, v uniform on (−1, 1), independent.

    A value is hit where |θ| > 1, that is where |v| < amount; it becomes white where θ is positive and black where it
    is negative. Severity multiplies θ and so the share that is hit: what is hit at one severity stays so at greater
    ones. `level`: amount is 0.03, 0.06, 0.09, 0.17 and 0.27 at ImageNet-C's levels 1 to 5 (impulse_noise)."""

    amount: float = option(0.05, "share of the values that are hit, half of them white and half black")
    level: float | None = option(None, LEVEL_HELP + "`amount`")

    differentiable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_strength(self, "amount")
        if self.strength > 1:
            raise BrittleError(f"impulse would hit {self.strength:.3g} of the values", "A share is at most 1.")

    @property
    def strength(self) -> float:
        return self.amount if self.level is None else at_level(IMPULSE_AMOUNT, self.level)

    def growth(self, factor: Tensor) -> Tensor:
        return growth(IMPULSE_AMOUNT, self.level, factor)

    def draw(self, keys: Tensor, count: int) -> Tensor:
        return uniform_field(keys, count).sub_(0.5).mul_(2 / self.strength).reciprocal_()

    def push(self, z: Tensor, batch: Batch) -> Tensor:
        tail = torch.erfc(z.abs() * math.sqrt(0.5)).clamp(min=torch.finfo(z.dtype).tiny)  # P(|Z| > |z|), uniform
        return self.strength / torch.copysign(tail, z)

    def log_density(self, theta: Tensor) -> Tensor:
        size = theta.abs()
        return (math.log(self.strength / 2) - 2 * size.log()).masked_fill(size < self.strength, -math.inf)

    def change(self, images: Tensor, theta: Tensor) -> Tensor:
        # Hardshrink leaves 0 where |θ| ≤ 1; elsewhere adding θ takes any value to 1 or beyond, or to 0 or below.
        return F.hardshrink(theta, 1.0).add_(images)

    def describe(self, height: int, width: int) -> str:
        pixels = self.strength * height * width
        return f"{100 * self.strength:.3g} % of the values turned white or black, {pixels:.0f} in each channel"
