"""Elastic deformation without folds: the flow of a smooth random velocity over a unit of time.

Adding a random displacement to every pixel folds the image as soon as neighbours overtake each other. Following a
velocity v never does: the flow exp(v) of a smooth field has a smooth inverse, exp(−v). It is computed by scaling and
squaring (Arsigny et al. 2006): exp(v) is exp(v/2ᴷ) composed with itself, K times over.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor

from brittle.constants import constant
from brittle.errors import BrittleError
from brittle.nuisances import register
from brittle.nuisances.geometry.geometric import GeometricNuisance, Unit
from brittle.nuisances.geometry.piecewise import motion_names
from brittle.nuisances.ops.warp import pixel_centres
from brittle.registry import option
from brittle.types import Batch

# With these the flow is within 1 % of the exact one (root mean square), mostly because of the nodes' spacing.
SQUARINGS = 3
NODES_PER_KNOT = 12
# Independent coefficients of variance 1 give a field of variance ∫β² = 151/315 for each of its two sides, whose
# correlation is the B-spline of degree 7: nearly Gaussian, and e^(−1/2) at 0.843 of the knots' spacing.
SPLINE_VARIANCE = 151 / 315
SPACING_PER_LENGTH = 1 / 0.843


@register("elastic")
@dataclass(frozen=True)
class Elastic(GeometricNuisance):
    """Smooth deformation without folds, the flow of a random velocity. Prior: the velocity is a Gaussian field of
    standard deviation `amplitude` across and down, correlated nearly as exp(−d²/2·length²) over distance.

    θ holds the coefficients of cubic B-splines on a regular grid of knots, independent in the prior, in `unit`: how
    far right, then how far down, the content drifts in a unit of time, row by row. Severity s follows the same
    velocity for a time s, so the image keeps moving; up to about severity 2 it does not fold on the pixel grid
    either."""

    amplitude: float = option(0.03, "standard deviation of the motion across and down, in `unit`", above=0)
    length: float = option(0.15, "distance at which motions correlate by 0.61, as a share of each side", above=0)
    unit: Unit = option("share", "share (of the shorter side) or pixels, for the motions")

    @property
    def knots(self) -> int:
        """B-splines per side: one per knot interval, and three that reach in from outside."""
        return math.ceil(1 / (self.length * SPACING_PER_LENGTH)) + 3

    @property
    def parameters(self) -> Sequence[str]:
        return motion_names(self.knots, self.knots)

    def check(self, shape: tuple[int, int, int]) -> None:
        _, height, width = shape
        if self.length * SPACING_PER_LENGTH * min(height, width) < 1:
            raise BrittleError(
                f"elastic: length={self.length:g} puts knots less than a pixel apart on images of {height}×{width}",
                f"Use length={math.ceil(1000 / SPACING_PER_LENGTH / min(height, width)) / 1000:g} or more.",
            )

    def deviations(self, batch: Batch) -> Tensor:
        return constant((self.amplitude / SPLINE_VARIANCE,) * (2 * self.knots**2), batch.images.device)

    def sources(self, theta: Tensor, height: int, width: int) -> Tensor:
        # The flow is computed at nodes from the first pixel's centre to the last one's, a few per knot, and finally
        # interpolated to all pixels: the field is far smoother than the pixels. In float32 the last bits of the matrix
        # products would depend on the batch, and on a GPU even the first bits on its settings.
        down, across = (_splines(self.length, self.knots, side, theta.device) for side in (height, width))
        velocity = (down @ theta.double().view(-1, 2, self.knots, self.knots) @ across.mT).to(theta.dtype)
        pixels = 1 if self.unit == "pixels" else min(height, width)
        to_nodes = constant((-2 * pixels / (width - 1), -2 * pixels / (height - 1)), theta.device, theta.dtype)
        to_coordinates = constant((1 - 1 / width, 1 - 1 / height), theta.device, theta.dtype)
        moved = to_coordinates[:, None, None] * flow(to_nodes[:, None, None] * velocity)
        if moved.shape[-2:] != (height, width):
            moved = F.interpolate(moved, (height, width), mode="bilinear", align_corners=True)
        moved[:, 0] += pixel_centres(width, theta.dtype, theta.device)
        moved[:, 1] += pixel_centres(height, theta.dtype, theta.device)[:, None]
        return moved.permute(0, 2, 3, 1)

    def describe(self, height: int, width: int) -> str:
        side = min(height, width)
        motion = self.amplitude if self.unit == "pixels" else self.amplitude * side
        return (
            f"smooth motions of {motion:.3g} pixels across and down (standard deviation), correlated over distances of "
            f"{self.length * width:.3g} pixels across and {self.length * height:.3g} pixels down"
        )


def flow(velocity: Tensor) -> Tensor:
    """Velocities at nodes (B, 2, h, w) → the displacement of each node after a unit of time (B, 2, h, w). Coordinates
    are ±1 at the outermost nodes; beyond them the velocity is that of the nearest node."""
    still = _node_places(*velocity.shape[-2:], velocity.dtype, velocity.device)
    step = velocity / 2**SQUARINGS
    moved = _look(step, still + step / 2)
    for _ in range(SQUARINGS):
        moved = moved + _look(moved, still + moved)
    return moved


def _look(field: Tensor, places: Tensor) -> Tensor:
    """The field (B, 2, h, w) at places (B, 2, h, w)."""
    return F.grid_sample(field, places.permute(0, 2, 3, 1), "bilinear", "border", align_corners=True)


@lru_cache(maxsize=64)
def _node_places(rows: int, columns: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """(2, rows, columns): x and y of a regular grid over [−1, 1]²."""
    with torch.inference_mode(False):  # cached for later calls, some of which need gradients
        y, x = (torch.linspace(-1, 1, count, dtype=torch.float64) for count in (rows, columns))
        return torch.stack((x.expand(rows, columns), y[:, None].expand(rows, columns))).to(dtype=dtype, device=device)


@lru_cache(maxsize=64)
def _splines(length: float, knots: int, side: int, device: torch.device) -> Tensor:
    """(nodes, knots): the cubic B-splines of a side of `side` pixels, at its nodes; float64."""
    with torch.inference_mode(False):
        nodes = min(side, NODES_PER_KNOT * (knots - 3) + 1)
        places = torch.linspace(-1, 1, nodes, dtype=torch.float64) * (1 - 1 / side) / 2
        middles = torch.arange(knots, dtype=torch.float64) - (knots - 1) / 2
        away = (places[:, None] / (length * SPACING_PER_LENGTH) - middles).abs()
        splines = torch.where(away < 1, 2 / 3 - away**2 + away**3 / 2, (2 - away).clamp_min(0) ** 3 / 6)
        return splines.to(device)
