"""Shot noise: pixels count photons, and the counts are Poisson (ImageNet-C's shot_noise).

x' = Q(u; x/g²)·g², where Q is the Poisson quantile function, u a fixed uniform number for each value of the image,
and g = 1/√photons the grain: the noise's standard deviation at white. Along the severity path u stays the same and g
grows, so each value moves away from x at the quantile that it drew.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from brittle.device import inspectable
from brittle.errors import BrittleError
from brittle.nuisances import register
from brittle.nuisances.base.levels import LEVEL_HELP, Levelled, at_level, check_level, growth
from brittle.nuisances.base.seeds import SEED_NAMES, seed_from, seed_keys
from brittle.nuisances.ops.broadcast import as_factor
from brittle.random import uniform, uniform_field
from brittle.registry import option
from brittle.types import Batch

GRAIN = (0.0, *(photons**-0.5 for photons in (60, 25, 12, 5, 3)))

SUMMED = 4.0  # up to this mean, terms are summed: 17 are enough to within a millionth
TERMS = 17
CPU_PIECE = 1 << 18


def poisson_quantile(shares: Tensor, means: Tensor) -> Tensor:
    """The smallest k with P(Poisson(mean) ≤ k) ≥ share, for shares in (0, 1): exact for means up to 4; above that, the
    Cornish–Fisher expansion to order 1/mean, within 0.0008 of the Poisson distribution in total variation."""
    return torch.where(means > SUMMED, _expanded(shares, means.clamp(min=SUMMED)), _summed(shares, means))


def _summed(shares: Tensor, means: Tensor) -> Tensor:
    """How many of the partial sums Σ mⁿ/n! stay below share·eᵐ. The remainder in units of the n-th term becomes the
    remainder in units of the next by (left·n/m − 1), and once negative it stays negative."""
    means = means.clamp(1e-9, SUMMED)  # 0 has no inverse, and at 1e-9 no share below 1 gives a photon
    left = torch.addcmul(shares - 1, means.expm1(), shares)  # share·eᵐ − 1, accurate where it is small
    inverse, one = means.reciprocal_(), left.new_ones(())
    signs, sign = torch.zeros_like(left), torch.empty_like(left)
    for n in range(1, TERMS + 1):
        signs.add_(torch.sign(left, out=sign))
        torch.addcmul(-one, left, inverse, value=n, out=left)
    return signs.add_(TERMS).mul_(0.5).floor_()


def _expanded(shares: Tensor, means: Tensor) -> Tensor:
    """⌊m + √m·z + (2 + z²)/6 − (2z + z³)/(72√m) + (−16 + 7z² + 3z⁴)/(810 m)⌋ with z the normal quantile."""
    z = shares.sub(0.5).mul_(2).erfinv_().mul_(math.sqrt(2))
    root = means.rsqrt()
    square = z * z
    last = (3 * square).add_(7).mul_(square).sub_(16).mul_(root).mul_(1 / 810)
    middle = (square + 2).mul_(z).mul_(-1 / 72).add_(last).mul_(root)
    return middle.add_(square.add_(2).mul_(1 / 6)).add_(z.div_(root)).add_(means).floor_().clamp_(min=0)


@register("shot")
@dataclass(frozen=True)
class Shot(Levelled):
    """Shot noise: a white pixel receives `photons` photons on average, darker pixels fewer, and black ones none.

    Prior: the grain is 1/√photons, and the counts are Poisson, independent in every pixel and channel; θ is the grain
    and a seed of two whole numbers from which the counts are generated. Severity multiplies the grain: severity 2 is
    noise twice as strong, from a quarter of the photons and the same seed. `level`: 60, 25, 12, 5 and 3 photons at
    ImageNet-C's levels 1 to 5; the grain is linear between them."""

    photons: float = option(
        25.0, "photons that a white pixel receives on average; the fewer, the more noise", above=0, shown="{} photons"
    )
    level: float | None = option(None, LEVEL_HELP + "`photons`", above=0, shown="level {}")

    title: ClassVar[str] = "Shot noise"
    parameters: ClassVar[Sequence[str]] = ("grain", *SEED_NAMES)
    needs: ClassVar[frozenset[str]] = frozenset()
    differentiable: ClassVar[bool] = False
    traceable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_level(self, "photons")

    @property
    def grain(self) -> float:
        return self.photons**-0.5 if self.level is None else at_level(GRAIN, self.level)

    def check(self, shape: tuple[int, int, int]) -> None:
        """Accepts every image."""

    def latent(self, batch: Batch) -> None:
        return None

    def sample(self, batch: Batch, keys: Tensor) -> Tensor:
        drawn = seed_from(uniform(keys, len(SEED_NAMES)))
        return torch.cat((torch.full_like(drawn[..., :1], self.grain), drawn), -1).to(batch.images.dtype)

    def push(self, z: Tensor, batch: Batch) -> Tensor:
        raise BrittleError("shot noise comes from a seed, not from Gaussian numbers", "Draw θ with sample.")

    def identity(self, batch: Batch) -> Tensor:
        return batch.images.new_zeros(len(batch.images), len(self.parameters))

    def log_prior(self, theta: Tensor, batch: Batch) -> None:
        return None

    def at(self, theta: Tensor, severity: Tensor | float, batch: Batch) -> Tensor:
        factor = as_factor(severity, theta)
        moved = growth(GRAIN, self.level, factor) * theta[..., :1]
        seed = torch.where(factor == 0, 0, theta[..., 1:])  # at severity 0 nothing is random, and θ is the identity
        return torch.cat((moved, seed.expand(*moved.shape[:-1], -1)), -1)

    def apply(self, batch: Batch, theta: Tensor) -> Tensor:
        images = batch.images.flatten(1)
        photon = theta[:, :1].clamp(min=1e-6).square()  # what one photon adds; with no grain, far less than one bit
        noisy = uniform_field(seed_keys(theta[:, 1:]), images.shape[1]).to(images.dtype)
        for part in pieces(noisy):
            noisy[:, part] = poisson_quantile(noisy[:, part], images[:, part] / photon).mul_(photon)
        return noisy.clamp_(0, 1).view(batch.images.shape)

    def describe(self, height: int, width: int) -> str:
        return (
            f"{self.grain**-2:.3g} photons for a white pixel, whose value then varies with a standard deviation of "
            f"{100 * self.grain:.2g} %"
        )


def pieces(numbers: Tensor) -> Iterator[slice]:
    """Slices of the columns of numbers (B, n), a few at a time on a CPU, to keep operations in cache."""
    rows, columns = numbers.shape
    width = max(1, CPU_PIECE // max(1, rows)) if inspectable(numbers) else max(1, columns)
    return (slice(start, min(start + width, columns)) for start in range(0, columns, width))
