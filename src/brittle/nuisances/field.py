"""Randomness over the pixels, in the two forms that θ gives it.

Where the transform is a simple function of the numbers themselves, θ *is* the field: one number for every value of
the image, with a prior, a density and gradients like any other θ (`FieldNuisance`). Where it is not, θ holds a
strength and a seed, two whole numbers below 2²⁴ that float32 holds exactly, and `apply` makes the field from them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

import torch
from torch import Tensor

from brittle.random import bits, fold
from brittle.types import Batch

SEED_NUMBERS = 2
_SEED_BITS = 24
_PIECE = 1 << 18


class FieldNuisance(ABC):
    """θ (..., C·H·W), independent numbers for every pixel and channel. Severity multiplies them all."""

    parameters: ClassVar[Sequence[str]] = ("noise",)
    needs: ClassVar[frozenset[str]] = frozenset()
    differentiable: ClassVar[bool] = True

    @abstractmethod
    def draw(self, keys: Tensor, count: int) -> Tensor:
        """keys (...) → θ (..., count) from the prior, float32."""

    @abstractmethod
    def push(self, z: Tensor, batch: Batch) -> Tensor:
        """z (B, n, C·H·W) → θ, number by number."""

    @abstractmethod
    def log_density(self, theta: Tensor) -> Tensor:
        """The log-density of each number of θ by itself."""

    @abstractmethod
    def change(self, images: Tensor, theta: Tensor) -> Tensor:
        """images and θ, both (B, C, H, W) → new images, possibly out of range."""

    def check(self, shape: tuple[int, int, int]) -> None:  # noqa: B027
        """Every image will do."""

    def latent(self, batch: Batch) -> int:
        return math.prod(batch.images.shape[1:])

    def sample(self, batch: Batch, keys: Tensor) -> Tensor:
        return self.draw(keys, self.latent(batch)).to(batch.images.dtype)

    def identity(self, batch: Batch) -> Tensor:
        return batch.images.new_zeros(1).expand(len(batch.images), self.latent(batch))

    def log_prior(self, theta: Tensor, batch: Batch) -> Tensor:
        # A sum of 150,000 terms in float32 would be off by hundredths, which an acceptance ratio can see.
        return self.log_density(theta).sum(-1, dtype=torch.float64)

    def growth(self, factor: Tensor) -> Tensor:
        """What θ is multiplied by at severity `factor`."""
        return factor

    def at(self, theta: Tensor, severity: Tensor | float, batch: Batch) -> Tensor:
        return self.growth(as_factor(severity, theta)) * theta

    def apply(self, batch: Batch, theta: Tensor) -> Tensor:
        return self.change(batch.images, theta.view(batch.images.shape)).clamp_(0, 1)


def as_factor(severity: Tensor | float, theta: Tensor) -> Tensor:
    """Severity with an axis for θ's numbers, made where θ is: a copy from the host would have a GPU wait."""
    return severity.to(theta)[..., None] if isinstance(severity, Tensor) else theta.new_full((1,), severity)


def seeds(keys: Tensor) -> Tensor:
    """keys (...) → a seed each (..., 2): uniform whole numbers below 2²⁴, as float64."""
    word = bits(keys, 1)
    mask = (1 << _SEED_BITS) - 1
    return torch.cat(((word >> _SEED_BITS) & mask, word & mask), -1).to(torch.float64)


def seed_keys(numbers: Tensor) -> Tensor:
    """Seeds (..., 2) → keys (...) of the fields they stand for."""
    whole = numbers.detach().round().to(torch.int64)
    return fold(whole[..., 0], whole[..., 1])


def pieces(numbers: Tensor) -> Iterator[slice]:
    """Columns of numbers (B, n), a few at a time on a CPU, so that many operations in a row stay in its caches."""
    rows, columns = numbers.shape
    width = max(1, _PIECE // max(1, rows)) if numbers.device.type == "cpu" else max(1, columns)
    return (slice(start, min(start + width, columns)) for start in range(0, columns, width))
