"""A Gaussian prior over a flat parameter vector: θ = identity + deviations · z, z ~ N(0, I).

A nuisance with such a prior defines its parameters, identity, deviations and transform; sampling,
density and the severity path are defined here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor

from brittle.nuisances.ops.broadcast import as_factor
from brittle.random import normal
from brittle.types import Batch


class GaussianNuisance(ABC):
    """Severity s moves in a straight line from the identity: s = 1 is the drawn θ, s = 2 is twice as far."""

    needs: ClassVar[frozenset[str]] = frozenset()
    differentiable: ClassVar[bool] = True
    traceable: ClassVar[bool] = True

    @property
    @abstractmethod
    def parameters(self) -> Sequence[str]:
        """A readable name for each number of θ."""

    def check(self, shape: tuple[int, int, int]) -> None:  # noqa: B027
        """Accepts every image, unless a subclass says otherwise."""

    def latent(self, batch: Batch) -> int:
        return len(self.parameters)

    @abstractmethod
    def centre(self, batch: Batch) -> Tensor:
        """The θ (d,) that changes nothing, which is also the prior's mean; float64."""

    @abstractmethod
    def deviations(self, batch: Batch) -> Tensor:
        """Prior standard deviations (d,); float64."""

    @abstractmethod
    def apply(self, batch: Batch, theta: Tensor) -> Tensor:
        """T_θ x for θ (B, d)."""

    def identity(self, batch: Batch) -> Tensor:
        return self.centre(batch).to(batch.images).expand(len(batch.images), -1)

    def sample(self, batch: Batch, keys: Tensor) -> Tensor:
        return self.push(normal(keys, self.latent(batch)), batch).to(batch.images.dtype)

    def push(self, z: Tensor, batch: Batch) -> Tensor:
        return self.centre(batch).to(z) + self.deviations(batch).to(z) * z

    def log_prior(self, theta: Tensor, batch: Batch) -> Tensor:
        spread = self.deviations(batch).to(theta)
        z = (theta - self.centre(batch).to(theta)) / spread
        return -0.5 * z.square().sum(-1) - spread.log().sum() - 0.5 * self.latent(batch) * math.log(2 * math.pi)

    def at(self, theta: Tensor, severity: Tensor | float, batch: Batch) -> Tensor:
        centre = self.centre(batch).to(theta)
        return centre + as_factor(severity, theta) * (theta - centre)
