"""A smooth shadow: a half plane with a soft edge, in which all colours are darker by the same factor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from brittle.nuisances import register
from brittle.nuisances.ops.broadcast import as_factor
from brittle.nuisances.ops.warp import pixel_centres
from brittle.random import normal
from brittle.registry import option
from brittle.types import Batch

POSITION_SIGMA = 0.5
SOFTNESS_SIGMA = 0.5


@register("shadow")
@dataclass(frozen=True)
class Shadow:
    """A shadow with a soft, straight edge: x·(1 − shade·(1 − e^−depth)). Prior: direction uniform, position
    ~ N(0, 0.5²), log softness ~ N(log `softness`, 0.5²), depth = |z| with z ~ N(0, sigma²).

    `direction` (degrees) points into the shadow: 0 is right, 90 is down. `position` is how far the edge is from
    the image's centre in that direction, and `softness` is the width of the edge, both in halves of the shorter side.
    Severity multiplies the depth: at severity 2 the share e^−depth of light that passes is squared, and the edge stays
    where it is."""

    sigma: float = option(0.8, "scale of the depth; a depth of 0.7 halves the light", above=0, shown="σ {}")
    softness: float = option(0.3, "usual width of the edge, in halves of the image's shorter side", above=0)

    parameters: ClassVar[Sequence[str]] = ("direction", "position", "softness", "depth")
    needs: ClassVar[frozenset[str]] = frozenset()
    differentiable: ClassVar[bool] = True
    traceable: ClassVar[bool] = True

    def check(self, shape: tuple[int, int, int]) -> None:
        """Accepts every image."""

    def latent(self, batch: Batch) -> int:
        return 4

    def sample(self, batch: Batch, keys: Tensor) -> Tensor:
        return self.push(normal(keys, 4), batch).to(batch.images.dtype)

    def push(self, z: Tensor, batch: Batch) -> Tensor:
        direction = 360 * torch.special.ndtr(z[..., 0])
        softness = self.softness * torch.exp(SOFTNESS_SIGMA * z[..., 2])
        return torch.stack((direction, POSITION_SIGMA * z[..., 1], softness, self.sigma * z[..., 3].abs()), -1)

    def identity(self, batch: Batch) -> Tensor:
        return self._still(batch.images).expand(len(batch.images), 4)

    def _still(self, like: Tensor) -> Tensor:
        return F.pad(like.new_full((1,), self.softness), (2, 1))

    def log_prior(self, theta: Tensor, batch: Batch) -> Tensor:
        direction, position, softness, depth = theta.unbind(-1)
        log_softness = softness.clamp(min=0).log()
        possible = (direction >= 0) & (direction <= 360) & (softness > 0) & (depth >= 0)
        density = (
            -math.log(360)
            + _log_normal(position, POSITION_SIGMA)
            + _log_normal(log_softness - math.log(self.softness), SOFTNESS_SIGMA)
            - log_softness
            + _log_normal(depth, self.sigma)
            + math.log(2)
        )
        return density.masked_fill(~possible, -math.inf)

    def at(self, theta: Tensor, severity: Tensor | float, batch: Batch) -> Tensor:
        factor = as_factor(severity, theta)
        deepened = torch.cat(((theta[..., :3] + 0 * factor), factor * theta[..., 3:]), -1)
        return torch.where(factor == 0, self._still(theta), deepened)

    def apply(self, batch: Batch, theta: Tensor) -> Tensor:
        images = batch.images
        height, width = images.shape[-2:]
        side = min(height, width)
        direction, position, softness, depth = (number[:, None, None] for number in theta.unbind(1))
        angle, steep = direction * (math.pi / 180), 4 / softness  # over `softness` the shade goes from 12 % to 88 %
        x = pixel_centres(width, images.dtype, images.device) * (width / side)
        y = pixel_centres(height, images.dtype, images.device)[:, None] * (height / side)
        across, down = steep * angle.cos() * x, steep * (angle.sin() * y - position)
        shade = (across + down).sigmoid_()
        return images * shade.mul(torch.expm1(-depth)).add_(1)[:, None]

    def describe(self, height: int, width: int) -> str:
        edge = self.softness * min(height, width) / 2
        median = 100 * math.exp(-0.6745 * self.sigma)
        return (
            f"a shadow over about half of the image, with an edge about {edge:.2g} pixels wide, that lets "
            f"{median:.0f} % of the light through (median)"
        )


def _log_normal(value: Tensor, sigma: float) -> Tensor:
    return -0.5 * (value / sigma).square() - math.log(sigma * math.sqrt(2 * math.pi))
