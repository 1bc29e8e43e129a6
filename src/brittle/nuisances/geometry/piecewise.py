"""Piecewise affine warps (Fawzi & Frossard 2016, section 3.2): a mesh of triangles moved by its control points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from brittle.cached import table
from brittle.constants import constant
from brittle.errors import BrittleError
from brittle.nuisances import register
from brittle.nuisances.geometry.geometric import GeometricNuisance, Unit
from brittle.nuisances.ops.correlated import GridPrior, correlate, grid_prior, log_density
from brittle.nuisances.ops.warp import pixel_centres
from brittle.registry import option
from brittle.types import Batch


@lru_cache(maxsize=64)
def motion_names(rows: int, columns: int) -> tuple[str, ...]:
    """A name for each number of a field of motions (2, rows, columns), counted from the top left."""
    places = [f"{row},{column}" for row in range(1, rows + 1) for column in range(1, columns + 1)]
    return tuple(f"{way} {place}" for way in ("right", "down") for place in places)


@register("piecewise-affine")
@dataclass(frozen=True)
class PiecewiseAffine(GeometricNuisance):
    """Motions of a regular grid of control points, affine on each triangle between them. Prior: motions across and
    down are independent Gaussians of standard deviation `amplitude`, correlated as exp(−d²/2·length²) over distance.

    Control points lie from edge to edge; each cell is cut into two triangles by a diagonal that changes direction
    from cell to cell. θ is how far right, then how far down, the content that arrives at each point has moved, in
    `unit`, row by row: 2·grid² numbers. Severity 1 is the drawn θ, severity 2 moves every point twice as far."""

    grid: int = option(7, "control points per side; 7 makes 98 numbers", least=2)
    amplitude: float = option(
        0.03, "standard deviation of a control point's motion across and down, in `unit`", above=0
    )
    length: float = option(0.25, "distance at which motions correlate by 0.61, as a share of the shorter side", above=0)
    unit: Unit = option("share", "share (of the shorter side) or pixels, for the motions")

    traceable: ClassVar[bool] = False  # its mesh is laid on the host

    @property
    def parameters(self) -> Sequence[str]:
        return motion_names(self.grid, self.grid)

    def check(self, shape: tuple[int, int, int]) -> None:
        _, height, width = shape
        if self.grid > min(height, width):
            raise BrittleError(
                f"piecewise-affine: {self.grid} control points per side on images of {height}×{width} pixels",
                f"There can't be more points than pixels: use grid={min(height, width)} or less.",
            )

    def deviations(self, batch: Batch) -> Tensor:
        return constant((self.amplitude,) * (2 * self.grid**2), batch.images.device)

    def push(self, z: Tensor, batch: Batch) -> Tensor:
        field = correlate(self._field(z), self._prior(batch))
        return self.amplitude * field.flatten(-3)

    def log_prior(self, theta: Tensor, batch: Batch) -> Tensor:
        field = self._field(theta).double() / self.amplitude
        density = log_density(field, self._prior(batch)).sum(-1) - 2 * self.grid**2 * math.log(self.amplitude)
        return density.to(theta.dtype)

    def sources(self, theta: Tensor, height: int, width: int) -> Tensor:
        scale = 1 if self.unit == "pixels" else min(height, width)
        to_coordinates = constant((2 * scale / width, 2 * scale / height), theta.device, theta.dtype)
        motions = self._field(theta) * to_coordinates[:, None, None]
        mesh = triangle_mesh(self.grid, height, width, theta.dtype, theta.device)
        return interpolate(mesh.points - motions, mesh).permute(0, 2, 3, 1)

    def describe(self, height: int, width: int) -> str:
        side = min(height, width)
        motion = self.amplitude if self.unit == "pixels" else self.amplitude * side
        return (
            f"{self.grid}×{self.grid} control points that move by {motion:.3g} pixels across and down (standard "
            f"deviation), mostly together if less than {self.length * side:.3g} pixels apart"
        )

    def _field(self, theta: Tensor) -> Tensor:
        return theta.reshape(*theta.shape[:-1], 2, self.grid, self.grid)

    def _prior(self, batch: Batch) -> GridPrior:
        height, width = batch.images.shape[-2:]
        return grid_prior(self.grid, self.length, height, width, batch.images.device)


class Mesh(NamedTuple):
    """The position of each pixel in a grid of cells, each cut in two by a diagonal."""

    points: Tensor  # (2, g, g) control points, x and y in [−1, 1]
    cells: Tensor  # (W,) column of cells
    across: Tensor  # (W,) how far across its cell, in [0, 1]
    down: Tensor  # (H, 1) how far down its cell, in [0, 1]
    beyond: Tensor  # (H, W) how far beyond the diagonal
    bands: tuple[int, ...]  # (g − 1,) pixel rows in each row of cells


@table(64)
def triangle_mesh(points: int, height: int, width: int, dtype: torch.dtype, device: torch.device) -> Mesh:
    """The mesh of `points` control points per side from edge to edge of an image."""
    with torch.inference_mode(False):  # cached for later calls, some of which need gradients
        columns, across = _places(width, points)
        rows, down = _places(height, points)
        s, t = across, down[:, None]
        falling = (rows[:, None] + columns) % 2 == 0
        beyond = torch.where(falling, torch.minimum(s, t), (s + t - 1).clamp_min(0))
        line = torch.linspace(-1, 1, points, dtype=torch.float64)
        corners = torch.stack((line.expand(points, points), line[:, None].expand(points, points)))
        corners, s, t, beyond = (each.to(dtype=dtype, device=device) for each in (corners, s, t, beyond))
        bands = tuple(torch.bincount(rows, minlength=points - 1).tolist())
        return Mesh(corners, columns.to(device), s, t, beyond, bands)


def _places(count: int, points: int) -> tuple[Tensor, Tensor]:
    """For each pixel of a side (count,): its cell and how far into it, in [0, 1]."""
    place = (pixel_centres(count, torch.float64, torch.device("cpu")) + 1) / 2 * (points - 1)
    cell = place.long().clamp(0, points - 2)
    return cell, place - cell


def interpolate(values: Tensor, mesh: Mesh) -> Tensor:
    """Values at the control points (B, 2, g, g) → values at every pixel (B, 2, H, W), linear on each triangle.

    In a cell with corners f₀₀, f₀₁ (right of it), f₁₀ (below it) and f₁₁, at s across and t down,

        f = f₀₀ + s (f₀₁ − f₀₀) + t (f₁₀ − f₀₀) + w(s, t) (f₀₀ − f₀₁ − f₁₀ + f₁₁)

    with w = min(s, t) where the diagonal falls to the right, and w = max(0, s + t − 1) where it rises: affine on
    both sides of the diagonal, and exact at all four corners.
    """
    left, right = values[..., :-1], values[..., 1:]
    along = torch.lerp(left[..., mesh.cells], right[..., mesh.cells], mesh.across)
    drop = left[..., 1:, :] - left[..., :-1, :]
    twist = (right[..., 1:, :] - right[..., :-1, :] - drop)[..., mesh.cells]
    drop = drop[..., mesh.cells]
    # One row of cells at a time: what varies across is (B, 2, 1, W), and the result is the only array of the
    # images' size.
    pieces, start = [], 0
    for row, count in enumerate(mesh.bands):
        band, cell = slice(start, start + count), slice(row, row + 1)
        piece = torch.addcmul(along[:, :, cell], drop[:, :, cell], mesh.down[band])
        pieces.append(torch.addcmul(piece, twist[:, :, cell], mesh.beyond[band]))
        start += count
    return torch.cat(pieces, 2)
