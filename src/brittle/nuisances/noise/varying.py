"""Additive Gaussian noise whose strength differs from image to image: σ uniform, then noise of that σ.

With `high=0.1` it is the mild noise that Marcu & Prügel-Bennett 2022 (appendix B.2) set their index against.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.nuisances import register
from brittle.nuisances.base.field import FieldNuisance
from brittle.random import fold, normal_field, uniform
from brittle.registry import option
from brittle.types import Batch


@register("varying-noise")
@dataclass(frozen=True)
class VaryingNoise(FieldNuisance):
    """Additive Gaussian noise, x + θ, of varying strength. Prior: σ ~ U[low, high] for each draw, then each number of θ
    ~ N(0, σ²), independent in every pixel and channel.

    Severity 1 is the drawn noise, severity 2 the same noise twice as strong; values are then clipped to [0, 1].
    log_prior is None: the density of θ alone is an integral over σ."""

    low: float = option(0.0, "the smallest standard deviation, where white is 1", least=0)
    high: float = option(0.1, "the largest standard deviation", above=0)
    clip: bool = option(True, "clip to [0, 1]; false lets values leave it")

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise BrittleError(
                f"the smallest standard deviation, low={self.low:g}, lies above the largest, high={self.high:g}",
                "Give a low of at most high.",
            )

    def latent(self, batch: Batch) -> int:
        return 1 + super().latent(batch)

    def _sigma(self, u: Tensor) -> Tensor:
        return self.low + (self.high - self.low) * u

    def draw(self, keys: Tensor, count: int) -> Tensor:
        sigma = self._sigma(uniform(keys, 1)).float()
        return sigma * normal_field(fold(keys, 1), count)

    def sample(self, batch: Batch, keys: Tensor) -> Tensor:
        return self.draw(keys, super().latent(batch)).to(batch.images.dtype)

    def push(self, z: Tensor, batch: Batch) -> Tensor:
        return self._sigma(torch.special.ndtr(z[..., :1])) * z[..., 1:]

    def identity(self, batch: Batch) -> Tensor:
        return batch.images.new_zeros(1).expand(len(batch.images), super().latent(batch))

    def log_prior(self, theta: Tensor, batch: Batch) -> None:  # type: ignore[override]
        return None

    def log_density(self, theta: Tensor) -> Tensor:
        raise AssertionError("numbers of θ are not independent: they share σ")

    def change(self, images: Tensor, theta: Tensor) -> Tensor:
        return images + theta

    def describe(self, height: int, width: int) -> str:
        low, high = 100 * self.low, 100 * self.high
        return f"noise with a standard deviation between {low:.3g} and {high:.3g} % of the range from black to white"
