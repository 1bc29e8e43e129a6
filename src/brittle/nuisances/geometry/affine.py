"""Affine maps, with the prior of Fawzi & Frossard (2016, section 3.1).

θ ~ N(1, (αG)⁻¹), with G = κ times the mean over the image of the squared displacement ‖δA·u + δt‖², that is
κ·diag(⅓, ⅓, ⅓, ⅓, 1, 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from brittle.constants import constant
from brittle.nuisances import register
from brittle.nuisances.geometry.geometric import MatrixNuisance
from brittle.nuisances.ops.image_metric import DISPLACEMENT, image_precision
from brittle.registry import option
from brittle.types import Batch

IDENTITY = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)  # of an affine map, by columns


def affine_deviations(alpha: float, kappa: float) -> tuple[float, ...]:
    """Standard deviations (6,) of N(1, (αG)⁻¹)."""
    return tuple((alpha * kappa * each) ** -0.5 for each in DISPLACEMENT)


def affine_displacement(alpha: float, kappa: float, height: int, width: int) -> float:
    """Root mean square displacement of a pixel in pixels, over the image and the prior N(1, (αG)⁻¹)."""
    # Each of the six numbers adds 1/(ακ) to the mean squared displacement, half of it across, half down.
    return math.sqrt(3 / (alpha * kappa)) * math.hypot(width / 2, height / 2)


@register("affine")
@dataclass(frozen=True)
class Affine(MatrixNuisance):
    """Affine maps with Fawzi & Frossard's prior N(1, (αG)⁻¹): the smaller alpha, the larger the maps.

    θ is the 2×3 matrix [A | t] by columns, in [−1, 1] coordinates. With `metric=image`, G is the metric that the
    image induces (`image_metric`): the prior is wide along maps that change this image little and narrow along those
    that change it a lot, and the root mean square displacement is the same as with `metric=uniform`. Severity 1
    is the drawn θ, severity 2 twice as far from the identity."""

    alpha: float = option(
        100.0, "how concentrated the prior is about the identity; the paper uses 100, 50 and 10", above=0, shown="α {}"
    )
    kappa: float = option(
        1.75, "the metric's scale κ, fitted to the paper's table, since its definition is lost", above=0
    )
    metric: Literal["uniform", "image"] = option("uniform", "uniform, or image: by how much a map changes the image")

    title: ClassVar[str] = "Affine map"
    parameters: ClassVar = ("a11", "a21", "a12", "a22", "shift x", "shift y")
    readings: ClassVar = ("rotation", "zoom x", "zoom y", "shear", "shift right", "shift down")
    parameter_units: ClassVar = {
        "rotation": "degrees clockwise",
        "shear": "degrees",
        "zoom x": "factor",
        "zoom y": "factor",
        "shift right": "pixels",
        "shift down": "pixels",
        "shift x": "half widths",
        "shift y": "half heights",
    }

    def read_theta(self, theta: Tensor, height: int, width: int) -> Tensor:
        """θ (…, 6) → (…, 6): what happens to the content, in degrees (clockwise), factors and pixels.

        θ says where pixels come from, in half widths and heights. The content moves by the inverse M of that map in
        pixels, M = R(rotation) · [[zoom x, zoom y · tan(shear)], [0, zoom y]], and its centre by −M t."""
        a11, a21, a12, a22, t1, t2 = theta.double().unbind(-1)
        a12, a21 = a12 * (width / height), a21 * (height / width)
        size = a11 * a22 - a12 * a21
        m11, m12, m21, m22 = a22 / size, -a12 / size, -a21 / size, a11 / size
        zoom_x = torch.hypot(m11, m21)
        zoom_y = 1 / (size * zoom_x)
        shear = torch.atan((m11 * m12 + m21 * m22) / (zoom_x * zoom_y))
        x, y = t1 * (width / 2), t2 * (height / 2)
        turned = torch.atan2(m21, m11)
        read = (turned.rad2deg(), zoom_x, zoom_y, shear.rad2deg(), -(m11 * x + m12 * y), -(m21 * x + m22 * y))
        return torch.stack(read, -1)

    def centre(self, batch: Batch) -> Tensor:
        return constant(IDENTITY, batch.images.device)

    def deviations(self, batch: Batch) -> Tensor:
        return constant(affine_deviations(self.alpha, self.kappa), batch.images.device)

    def precision(self, batch: Batch) -> Tensor:
        """Lower P (B, 6, 6) with Σ⁻¹ = P Pᵀ, for each image; float64."""
        return math.sqrt(self.alpha * self.kappa) * image_precision(batch.images)

    def push(self, z: Tensor, batch: Batch) -> Tensor:
        if self.metric == "uniform":
            return super().push(z, batch)
        # Σ = (P Pᵀ)⁻¹ = P⁻ᵀ P⁻¹, so θ = 1 + P⁻ᵀ z; draws are rows.
        offset: Tensor = torch.linalg.solve_triangular(self.precision(batch).to(z), z, upper=False, left=False)
        return self.centre(batch).to(z) + offset

    def log_prior(self, theta: Tensor, batch: Batch) -> Tensor:
        if self.metric == "uniform":
            return super().log_prior(theta, batch)
        precision = self.precision(batch)
        z = (theta.double() - self.centre(batch)) @ precision
        volume = precision.diagonal(dim1=-2, dim2=-1).log().sum(-1, keepdim=True)
        return (volume - 0.5 * z.square().sum(-1) - 3 * math.log(2 * math.pi)).to(theta.dtype)

    def matrices(self, theta: Tensor, height: int, width: int) -> Tensor:
        return theta.view(-1, 3, 2).transpose(1, 2)

    def describe(self, height: int, width: int) -> str:
        pixels = affine_displacement(self.alpha, self.kappa, height, width)
        said = f"affine maps that move a pixel by {pixels:.3g} pixels (root mean square over the image and the prior)"
        return said if self.metric == "uniform" else f"{said}, mostly along maps that change the image least"
