"""A Gaussian field on a regular grid of points whose correlation decays with distance, exp(−d²/2ℓ²).

The kernel is a product of one across and one down, so the Cholesky factor of the whole covariance is the Kronecker
product of two small ones: 7×7 points need two 7×7 factors, computed once, and a draw is L_down Z L_acrossᵀ.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

# The share of each variance that is independent of the neighbours. Without it a fine grid's covariance is singular to
# machine precision; with it the density of a θ rounded to float32 is still correct to three digits.
OWN = 1e-4


class Factors(NamedTuple):
    """Lower triangular matrices (g, g), float64, that act on the rows and on the columns of a field."""

    down: Tensor
    across: Tensor


class GridPrior(NamedTuple):
    """N(0, K) on fields (g, g), K = K_down ⊗ K_across with ones on its diagonal."""

    cholesky: Factors
    inverse: Factors  # of the Cholesky factors
    log_volume: float  # log det of the full Cholesky factor


@lru_cache(maxsize=64)
def grid_prior(points: int, length: float, height: int, width: int, device: torch.device) -> GridPrior:
    """The prior for `points` per side from edge to edge of an image, with `length` a share of its shorter side."""
    with torch.inference_mode(False):  # cached for later calls, some of which need gradients
        lower = [_factor(points, length * min(height, width) / side) for side in (height, width)]
        eye = torch.eye(points, dtype=torch.float64)
        inverse = [torch.linalg.solve_triangular(each, eye, upper=False) for each in lower]
        log_volume = points * sum(float(each.diagonal().log().sum()) for each in lower)
        cholesky, whitening = (Factors(*(each.to(device) for each in pair)) for pair in (lower, inverse))
        return GridPrior(cholesky, whitening, log_volume)


def _factor(points: int, length: float) -> Tensor:
    """Lower Cholesky factor (g, g) for points on a side of length 1."""
    places = torch.linspace(0, 1, points, dtype=torch.float64)
    kernel = torch.exp(-0.5 * ((places[:, None] - places) / length).square())
    factor: Tensor = torch.linalg.cholesky((1 - OWN) * kernel + OWN * torch.eye(points, dtype=torch.float64))
    return factor


def _act(factors: Factors, field: Tensor) -> Tensor:
    """Down · field · acrossᵀ for fields (..., g, g)."""
    # Products and sums instead of a matrix product, whose last bits would depend on the number of fields.
    columns = (field[..., None, :] * factors.across.to(field)).sum(-1)
    return (factors.down.to(field)[:, :, None] * columns[..., None, :, :]).sum(-2)


def correlate(z: Tensor, prior: GridPrior) -> Tensor:
    """Standard normal z (..., g, g) → draws from the prior (..., g, g)."""
    return _act(prior.cholesky, z)


def log_density(field: Tensor, prior: GridPrior) -> Tensor:
    """Fields (..., g, g) → log p (...), in float64."""
    z = _act(prior.inverse, field.double())
    return -0.5 * z.square().sum((-2, -1)) - prior.log_volume - 0.5 * field.shape[-1] ** 2 * math.log(2 * math.pi)
