"""Noise that is θ itself: one number per value of the image, with a prior, a density and gradients.

If a transform is not a simple function of its random numbers, θ contains a seed instead (`seeds`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from brittle.nuisances.ops.broadcast import as_factor
from brittle.types import Batch


class FieldNuisance(ABC):
    """θ (..., C·H·W), an independent number for every pixel and channel. Severity multiplies them all."""

    parameters: ClassVar[Sequence[str]] = ("noise",)
    needs: ClassVar[frozenset[str]] = frozenset()
    differentiable: ClassVar[bool] = True
    traceable: ClassVar[bool] = True
    clip: bool = True  # to [0, 1]

    @abstractmethod
    def draw(self, keys: Tensor, count: int) -> Tensor:
        """keys (...) → θ (..., count) from the prior, float32."""

    @abstractmethod
    def push(self, z: Tensor, batch: Batch) -> Tensor:
        """z (B, n, C·H·W) → θ, number by number."""

    @abstractmethod
    def log_density(self, theta: Tensor) -> Tensor:
        """The log-density of each number of θ separately."""

    @abstractmethod
    def change(self, images: Tensor, theta: Tensor) -> Tensor:
        """images and θ, both (B, C, H, W) → new images, possibly out of range."""

    def check(self, shape: tuple[int, int, int]) -> None:  # noqa: B027
        """Accepts every image."""

    def latent(self, batch: Batch) -> int:
        return math.prod(batch.images.shape[1:])

    def sample(self, batch: Batch, keys: Tensor) -> Tensor:
        return self.draw(keys, self.latent(batch)).to(batch.images.dtype)

    def identity(self, batch: Batch) -> Tensor:
        return batch.images.new_zeros(1).expand(len(batch.images), self.latent(batch))

    def log_prior(self, theta: Tensor, batch: Batch) -> Tensor:
        # A sum of 150,000 terms in float32 would be off by hundredths, enough to affect an acceptance ratio.
        return self.log_density(theta).sum(-1, dtype=torch.float64)

    def growth(self, factor: Tensor) -> Tensor:
        """The factor that multiplies θ at severity `factor`."""
        return factor

    def at(self, theta: Tensor, severity: Tensor | float, batch: Batch) -> Tensor:
        return self.growth(as_factor(severity, theta)) * theta

    def apply(self, batch: Batch, theta: Tensor) -> Tensor:
        changed = self.change(batch.images, theta.view(batch.images.shape))
        return changed.clamp_(0, 1) if self.clip else changed
