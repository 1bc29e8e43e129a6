"""Salt and pepper (ImageNet-C's impulse_noise). θ says for each value at which severity it is hit, and how."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from brittle.errors import BrittleError
from brittle.nuisances import register
from brittle.nuisances.base.field import FieldNuisance
from brittle.nuisances.base.levels import LEVEL_HELP, Levelled, at_level, check_level, growth
from brittle.random import uniform_field
from brittle.registry import option
from brittle.types import Batch

IMPULSE_AMOUNT = (0.0, 0.03, 0.06, 0.09, 0.17, 0.27)


@register("impulse")
@dataclass(frozen=True)
class Impulse(Levelled, FieldNuisance):
    """Salt and pepper: a share of the values become 1 or 0. Prior: θ = amount/v, v uniform on (−1, 1), independent.

    A value is hit if |θ| > 1, that is if |v| < amount; it becomes white if θ is positive and black if it is negative.
    Severity multiplies θ and so the share that is hit: what is hit at one severity is also hit at greater ones.
    `level`: amount is 0.03, 0.06, 0.09, 0.17 and 0.27 at ImageNet-C's levels 1 to 5 (impulse_noise)."""

    amount: float = option(0.05, "share of the values that are hit, half of them white and half black", above=0, most=1)
    level: float | None = option(None, LEVEL_HELP + "`amount`", above=0, shown="level {}")

    title: ClassVar[str] = "Impulse noise"
    differentiable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_level(self, "amount")
        if self.strength > 1:
            raise BrittleError(f"impulse would hit {self.strength:.3g} of the values", "Take a lower level.")

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
        # Hardshrink gives 0 where |θ| ≤ 1; elsewhere adding θ takes any value to at least 1 or at most 0.
        return F.hardshrink(theta, 1.0).add_(images)

    def describe(self, height: int, width: int) -> str:
        pixels = self.strength * height * width
        return f"{100 * self.strength:.3g} % of the values turned white or black, {pixels:.0f} in each channel"
