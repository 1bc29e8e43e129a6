"""Additive uniform noise. θ is the noise itself: it has a density and gradients, and severity multiplies it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from brittle.nuisances import register
from brittle.nuisances.base.field import FieldNuisance
from brittle.random import uniform_field
from brittle.registry import option
from brittle.types import Batch


@register("uniform-noise")
@dataclass(frozen=True)
class UniformNoise(FieldNuisance):
    """Additive uniform noise, x + θ. Prior: each number of θ uniform from −width to width, independent.

    Severity 1 is the drawn noise, severity 2 the same noise twice as strong; values are then clipped to [0, 1]."""

    width: float = option(0.2, "the largest change of a pixel, where white is 1", above=0, shown="±{}")

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
