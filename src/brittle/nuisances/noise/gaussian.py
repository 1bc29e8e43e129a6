"""Gaussian noise, additive or multiplicative, independent in every pixel and channel.

θ is the noise itself, C·H·W numbers, so it has a density and gradients, and severity multiplies it. With `level` the
strength is ImageNet-C's, piecewise linear between its levels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from brittle.nuisances import register
from brittle.nuisances.base.field import FieldNuisance
from brittle.nuisances.base.levels import LEVEL_HELP, Levelled, at_level, check_level, growth
from brittle.random import normal_field
from brittle.registry import option
from brittle.types import OF_255, Batch, Nuisance, SeverityScale

WHITE = 255.0
GAUSSIAN_SIGMA = (0.0, 0.08, 0.12, 0.18, 0.26, 0.38)
SPECKLE_SIGMA = (0.0, 0.15, 0.2, 0.35, 0.45, 0.6)


@dataclass(frozen=True)
class GaussianField(Levelled, FieldNuisance):
    """θ ~ N(0, σ²), independent numbers, with σ given by `sigma` or ImageNet-C's table."""

    sigma: float = option(0.1, "standard deviation of the noise", above=0, shown="σ {}")
    level: float | None = option(None, LEVEL_HELP + "`sigma`", above=0, shown="level {}")

    table: ClassVar[tuple[float, ...]]

    def __post_init__(self) -> None:
        check_level(self, "sigma")

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
    """Additive Gaussian noise, x + θ. Prior: each number of θ ~ N(0, sigma²), independent in every pixel and channel.

    Severity 1 is the drawn noise, severity 2 the same noise twice as strong; values are then clipped to [0, 1].
    `level`: sigma is 0.08, 0.12, 0.18, 0.26 and 0.38 at ImageNet-C's levels 1 to 5 (gaussian_noise)."""

    sigma: float = option(0.1, "standard deviation of the noise, where white is 1", above=0, shown="σ {}")
    clip: bool = option(True, "clip to [0, 1]; false lets values leave it, as closed forms have it")
    title: ClassVar[str] = "Gaussian noise"

    table: ClassVar = GAUSSIAN_SIGMA

    @property
    def severity_scale(self) -> SeverityScale:
        """σ where white is 255, unless the noise has a level."""
        if self.level is not None:
            return super().severity_scale
        return SeverityScale(OF_255, WHITE * self.sigma, tuple(10.0 * place for place in range(1, 11)), 1.0, WHITE)

    @property
    def clipped(self) -> bool:
        return self.clip

    def whole_path(self) -> Nuisance | None:
        return replace(self, sigma=Noise.sigma) if self.level is None else super().whole_path()

    def change(self, images: Tensor, theta: Tensor) -> Tensor:
        return images + theta

    def describe(self, height: int, width: int) -> str:
        share = 100 * self.strength
        return f"noise with a standard deviation of {share:.3g} % of the range from black to white in every pixel"


@register("speckle")
@dataclass(frozen=True)
class Speckle(GaussianField):
    """Multiplicative noise, x·(1 + θ). Prior: each number of θ ~ N(0, sigma²), independent in every pixel and channel.

    Severity 1 is the drawn noise, severity 2 the same noise twice as strong; black stays black.
    `level`: sigma is 0.15, 0.2, 0.35, 0.45 and 0.6 at ImageNet-C's levels 1 to 5 (speckle_noise)."""

    sigma: float = option(
        0.2, "standard deviation of the noise, as a share of each pixel's own value", above=0, shown="σ {}"
    )

    title: ClassVar[str] = "Speckle noise"
    table: ClassVar = SPECKLE_SIGMA

    def change(self, images: Tensor, theta: Tensor) -> Tensor:
        return torch.addcmul(images, images, theta)

    def describe(self, height: int, width: int) -> str:
        return f"noise with a standard deviation of {100 * self.strength:.3g} % of each pixel's own value"
