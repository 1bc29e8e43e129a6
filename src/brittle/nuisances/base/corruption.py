"""What corruptions share: a level in ImageNet-C's sense, drawn around an option, and other random numbers.

They all follow one convention. θ = (level, …): the first number is ImageNet-C's level (Hendrycks & Dietterich
2019), any real number ≥ 0, and each image's strengths come from the published tables, piecewise linear between 0
(no change) and 1, 2, … 5, and extrapolated linearly beyond. A direction and a seed follow, if the corruption has
them. Severity multiplies the level and leaves the rest unchanged: severity 1 is the draw, and with
`spread=0,level=1` severity *is* ImageNet-C's level.

Prior: level = `level`·exp(`spread`·z) with z ~ N(0, 1), so that two draws in three lie within a factor
exp(`spread`) of `level`; `spread=0` fixes it. Directions are uniform over their range. Seeds are
uniform; `apply` generates the random field from them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from brittle.nuisances.base.levels import Levelled, level_scale
from brittle.nuisances.base.seeds import SEED_NAMES, seed_from, seed_keys
from brittle.nuisances.ops.broadcast import as_factor
from brittle.nuisances.ops.pieces import learning, pieces
from brittle.random import normal
from brittle.registry import option
from brittle.types import Batch, SeverityScale

REFERENCE_SIDE = 224
ROUNDING = 1e-6  # of float32 draws, relative to the level


@dataclass(frozen=True, kw_only=True)
class Corruption(Levelled, ABC):
    """A nuisance whose θ is a level, followed by directions and a seed."""

    level: float = option(3.0, "ImageNet-C's level at severity 1, any number above 0", above=0, shown="level {}")
    spread: float = option(0.25, "standard deviation of the logarithm of the drawn level; 0 fixes it", least=0)

    parameters: ClassVar[Sequence[str]] = ("level",)
    needs: ClassVar[frozenset[str]] = frozenset()
    differentiable: ClassVar[bool] = True
    traceable: ClassVar[bool] = True

    piece: ClassVar[int] = 1_250_000  # values that each of a CPU's threads corrupts at a time: eight photographs

    @property
    def severity_scale(self) -> SeverityScale:
        return level_scale(self.level, "median level" if self.spread > 0 else "level")

    @abstractmethod
    def corrupt(self, images: Tensor, level: Tensor, rest: Tensor) -> Tensor:
        """images (B, C, H, W), level (B,) ≥ 0 and the other numbers of θ (B, d − 1) → images, possibly out of range."""

    def prepare(self, images: Tensor, level: Tensor, rest: Tensor) -> tuple[Tensor, Tensor]:
        """What `corrupt` gets in place of level and rest, (B, …) each. Images are corrupted a few at a time; hundreds
        of small operations, which cost as much for a few images as for all, belong here."""
        return level, rest

    def corrupt_into(self, place: Tensor, images: Tensor, level: Tensor, rest: Tensor) -> None:
        """The same in range and into `place`, where nobody asks for a gradient; for what can do that faster."""
        torch.clamp(self.corrupt(images, level, rest), 0, 1, out=place)

    @abstractmethod
    def picture(self, height: int, width: int) -> str:
        """What `level` does to images of this size, in words that are followed by "at level 3"."""

    def ranges(self) -> Sequence[tuple[float, float]]:
        """The range of each uniform direction; the seed, if there is one, comes last and is not listed."""
        return ()

    def check(self, shape: tuple[int, int, int]) -> None:
        """Accepts every image, unless a subclass says otherwise."""

    def latent(self, batch: Batch) -> int:
        return len(self.parameters)

    def sample(self, batch: Batch, keys: Tensor) -> Tensor:
        return self.push(normal(keys, self.latent(batch)), batch).to(batch.images.dtype)

    def push(self, z: Tensor, batch: Batch) -> Tensor:
        columns = [self.level * torch.exp(self.spread * z[..., 0])]
        shares = torch.special.ndtr(z)
        for place, (low, high) in enumerate(self.ranges(), start=1):
            columns.append(low + (high - low) * shares[..., place])
        if self._seeded:
            columns += seed_from(shares[..., -len(SEED_NAMES) :]).unbind(-1)
        return torch.stack(columns, -1)

    def identity(self, batch: Batch) -> Tensor:
        return batch.images.new_zeros(len(batch.images), len(self.parameters))

    def log_prior(self, theta: Tensor, batch: Batch) -> Tensor | None:
        """None if there is a seed, whose density would be of no use; with `spread=0` only one level is possible."""
        if self._seeded:
            return None
        level = theta[..., 0]
        density = torch.zeros_like(level)
        if self.spread > 0:
            # A level of 0 is impossible under the prior: its logarithm makes z = −∞ and the density 0.
            log_level = level.clamp(min=0).log()
            z = (log_level - math.log(self.level)) / self.spread
            density = -0.5 * z.square() - math.log(self.spread * math.sqrt(2 * math.pi)) - log_level
            density = density.masked_fill(level <= 0, -math.inf)
        else:
            density = density.masked_fill((level - self.level).abs() > ROUNDING * self.level, -math.inf)
        for place, (low, high) in enumerate(self.ranges(), start=1):
            outside = (theta[..., place] < low) | (theta[..., place] > high)
            density = (density - math.log(high - low)).masked_fill(outside, -math.inf)
        return density

    def at(self, theta: Tensor, severity: Tensor | float, batch: Batch) -> Tensor:
        factor = as_factor(severity, theta)
        level = factor * theta[..., :1]
        moved = torch.cat((level, theta[..., 1:].expand(*level.shape[:-1], -1)), -1)
        return moved.masked_fill(factor == 0, 0.0)

    def apply(self, batch: Batch, theta: Tensor) -> Tensor:
        images = batch.images.contiguous()
        prepared = self.prepare(images, theta[:, 0].clamp(min=0), theta[:, 1:])
        if learning(images, theta):
            return torch.cat([self.corrupt(*some) for some in pieces(self.piece, images, *prepared)]).clamp(0, 1)
        result = torch.empty_like(images)
        for *some, place in pieces(self.piece, images, *prepared, result):
            self.corrupt_into(place, *some)
        return result

    def describe(self, height: int, width: int) -> str:
        low, high = self.level * math.exp(-self.spread), self.level * math.exp(self.spread)
        between = f" (two draws in three between levels {low:.2g} and {high:.2g})" if self.spread > 0 else ""
        return f"{self.picture(height, width)} at level {self.level:g}{between}"

    @property
    def _seeded(self) -> bool:
        return self.parameters[-1] == SEED_NAMES[-1]


@dataclass(frozen=True, kw_only=True)
class PixelSizedCorruption(Corruption):
    """A corruption whose tables contain lengths in pixels of a 224×224 image."""

    scaled: bool = option(True, "lengths grow with the shorter side, as published at 224 pixels; false: in pixels")

    def pixels(self, height: int, width: int) -> float:
        """How many pixels of this image correspond to one pixel of the tables."""
        return min(height, width) / REFERENCE_SIDE if self.scaled else 1.0


def field_keys(rest: Tensor, stream: int) -> Tensor:
    """The keys (B,) of the seed's random fields; θ ends with the seed, and each `stream` is a separate field."""
    return seed_keys(rest[:, -len(SEED_NAMES) :], stream)
