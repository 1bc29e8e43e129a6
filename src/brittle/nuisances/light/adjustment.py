"""Base classes of changes of light and colour that are given by a few numbers per image.

The prior is Gaussian about the identity. With `level` every image gets ImageNet-C's strength instead, which is not
random: θ is the same for every draw, and severity still leads to it from the identity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from brittle.nuisances.base.gaussian import GaussianNuisance
from brittle.nuisances.base.levels import LEVEL_HELP, Levelled, at_level, check_level, strengths
from brittle.nuisances.ops.broadcast import as_factor
from brittle.registry import option
from brittle.types import Batch

ROUNDING = 1e-6  # of float32 draws: how far θ may be from the one point that a level allows


@dataclass(frozen=True)
class Adjustment(GaussianNuisance):
    """θ ~ N(0, sigma²), independent numbers; 0 changes nothing."""

    sigma: float = option(0.2, "standard deviation of each number of θ", above=0, shown="σ {}")

    def centre(self, batch: Batch) -> Tensor:
        return torch.zeros(len(self.parameters), dtype=torch.float64, device=batch.images.device)

    def deviations(self, batch: Batch) -> Tensor:
        return torch.full((len(self.parameters),), self.sigma, dtype=torch.float64, device=batch.images.device)

    def usual_gains(self) -> str:
        """The range of two draws in three, where θ is the logarithm of a gain."""
        return f"two times in three between ×{math.exp(-self.sigma):.2f} and ×{math.exp(self.sigma):.2f}"


@dataclass(frozen=True)
class LevelledAdjustment(Levelled, Adjustment):
    """An adjustment that ImageNet-C also has: with a level, θ is a single point, and there is nothing to draw."""

    level: float | None = option(None, LEVEL_HELP + "the prior: every image alike", above=0, shown="level {}")

    tables: ClassVar[Sequence[Sequence[float]]]  # for each number of θ, its values at ImageNet-C's levels 0 to 5

    def __post_init__(self) -> None:
        check_level(self, "sigma")

    def latent(self, batch: Batch) -> int:
        return len(self.parameters) if self.level is None else 0

    def push(self, z: Tensor, batch: Batch) -> Tensor:
        if self.level is None:
            return super().push(z, batch)
        return self._point(z).expand(*z.shape[:-1], -1)

    def log_prior(self, theta: Tensor, batch: Batch) -> Tensor:
        if self.level is None:
            return super().log_prior(theta, batch)
        elsewhere = ((theta - self._point(theta)).abs() > ROUNDING).any(-1)
        return torch.zeros_like(theta[..., 0]).masked_fill(elsewhere, -math.inf)

    def at(self, theta: Tensor, severity: Tensor | float, batch: Batch) -> Tensor:
        """With a level, severity multiplies it: with `level=1`, severity is ImageNet-C's level."""
        if self.level is None:
            return super().at(theta, severity, batch)
        factor = as_factor(severity, theta)
        points = strengths(self.level * factor.flatten(), *self.tables)
        on_the_way = torch.stack([each.view(factor.shape[:-1]) for each in points], -1)
        return on_the_way + factor * (theta - self._point(theta))

    def _point(self, like: Tensor) -> Tensor:
        return torch.stack([like.new_full((), at_level(table, self.level or 0.0)) for table in self.tables])
