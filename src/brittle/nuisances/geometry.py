"""Geometry with a few parameters: translation, rotation, scaling, similarity, affine.

The affine prior is Fawzi & Frossard's (2016, section 3.1): θ ~ N(1, (αG)⁻¹), with G = κ times the
mean over the image of the squared displacement ‖δA·u + δt‖², that is κ·diag(⅓, ⅓, ⅓, ⅓, 1, 1).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.nuisances import register
from brittle.nuisances.constants import constant
from brittle.nuisances.gaussian import GaussianNuisance
from brittle.nuisances.image_metric import DISPLACEMENT, image_precision
from brittle.nuisances.translate import translate
from brittle.nuisances.warp import Interpolation, Outside, affine_sources, pixel_map_to_matrix, resample
from brittle.registry import option
from brittle.types import Batch

Unit = Literal["share", "pixels"]
IDENTITY = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)  # of an affine map, by columns


@dataclass(frozen=True, kw_only=True)
class Geometric(GaussianNuisance):
    """A nuisance that moves pixels: θ says from where each takes its value."""

    fill: Outside = option(0.0, "what lies outside the image: a grey value in [0, 1], edge or mirror")
    interpolation: Interpolation = option("bilinear", "bilinear, nearest or bicubic")

    def __post_init__(self) -> None:
        for name in ("sigma", "rotation", "zoom", "shift", "alpha", "kappa", "perspective", "amplitude", "length"):
            value = getattr(self, name, None)
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise BrittleError(f"option {name!r} is {value:g}", "It must be a positive number.")
        if not isinstance(self.fill, str) and not 0 <= self.fill <= 1:
            raise BrittleError(f"option 'fill' is {self.fill:g}", "Give a grey value from 0 to 1, edge or mirror.")

    @abstractmethod
    def sources(self, theta: Tensor, height: int, width: int) -> Tensor:
        """θ (B, d) → where in the input each output pixel looks (B, H, W, 2), as (x, y) in [−1, 1]."""

    def centre(self, batch: Batch) -> Tensor:
        return constant((0.0,) * self.latent(batch), batch.images.device)

    def apply(self, batch: Batch, theta: Tensor) -> Tensor:
        height, width = batch.images.shape[-2:]
        return resample(batch.images, self.sources(theta, height, width), self.fill, self.interpolation)


@dataclass(frozen=True, kw_only=True)
class Linear(Geometric):
    """A nuisance whose θ becomes one 2×3 matrix per image."""

    @abstractmethod
    def matrices(self, theta: Tensor, height: int, width: int) -> Tensor:
        """θ (B, d) → [A | t] (B, 2, 3) in [−1, 1] coordinates."""

    def sources(self, theta: Tensor, height: int, width: int) -> Tensor:
        return affine_sources(self.matrices(theta, height, width), height, width)


def _in_pixels(theta: Tensor, unit: Unit, height: int, width: int) -> Tensor:
    """Shifts (B, 2) in `unit` → pixels."""
    return theta if unit == "pixels" else theta * constant((width, height), theta.device, theta.dtype)


def _whole_within_rounding(shift: Tensor) -> Tensor:
    """Shifts that a share was multiplied out to → to two bits less, so that whole pixels are whole.

    A share such as 7/49 is rounded when it is stored, and its product with the side again, which can leave it an ulp
    away from 7. Veltkamp's splitting; its gradient is 1."""
    fivefold = 5 * shift
    return fivefold - (fivefold - shift)


def _turn_and_zoom(degrees: Tensor, log_zoom: Tensor) -> Tensor:
    """(B,), (B,) → (B, 2, 2): the content turns clockwise by `degrees` and grows by e^log_zoom."""
    angle, shrink = degrees * (math.pi / 180), torch.exp(-log_zoom)
    cos, sin = shrink * torch.cos(angle), shrink * torch.sin(angle)
    return torch.stack((torch.stack((cos, sin), -1), torch.stack((-sin, cos), -1)), -2)


@register("translation")
@dataclass(frozen=True)
class Translation(Linear):
    """Shifts. Prior: each of shift x and shift y ~ N(0, sigma²); a positive shift moves the content left or up.

    Severity 1 is the drawn shift, severity 2 twice as far."""

    sigma: float = option(0.1, "standard deviation of each shift, in `unit`")
    unit: Unit = option("share", "share (of the image's width and height) or pixels")

    parameters: ClassVar = ("shift x", "shift y")

    def deviations(self, batch: Batch) -> Tensor:
        return constant((self.sigma, self.sigma), batch.images.device)

    def matrices(self, theta: Tensor, height: int, width: int) -> Tensor:
        still = torch.eye(2, dtype=theta.dtype, device=theta.device).expand(len(theta), 2, 2)
        return pixel_map_to_matrix(still, _in_pixels(theta, self.unit, height, width), height, width)

    def apply(self, batch: Batch, theta: Tensor) -> Tensor:
        if self.interpolation == "nearest":  # takes whole pixels whatever the rounding
            return super().apply(batch, theta)
        shift = _in_pixels(theta, self.unit, *batch.images.shape[-2:])
        if self.unit == "share":
            shift = _whole_within_rounding(shift)
        return translate(batch.images, shift, self.fill, cubic=self.interpolation == "bicubic")

    def describe(self, height: int, width: int) -> str:
        x, y = (self.sigma, self.sigma) if self.unit == "pixels" else (self.sigma * width, self.sigma * height)
        return f"shifts with a standard deviation of {x:.3g} pixels across and {y:.3g} pixels down"


@register("rotation")
@dataclass(frozen=True)
class Rotation(Linear):
    """Rotation about the centre. Prior: angle ~ N(0, sigma²) in degrees, positive turns the content clockwise.

    Severity 1 is the drawn angle, severity 2 twice the angle."""

    sigma: float = option(15.0, "standard deviation of the angle in degrees")

    parameters: ClassVar = ("angle",)

    def deviations(self, batch: Batch) -> Tensor:
        return constant((self.sigma,), batch.images.device)

    def matrices(self, theta: Tensor, height: int, width: int) -> Tensor:
        turned = _turn_and_zoom(theta[:, 0], torch.zeros_like(theta[:, 0]))
        return pixel_map_to_matrix(turned, torch.zeros_like(theta[:, :1]).expand(-1, 2), height, width)

    def describe(self, height: int, width: int) -> str:
        edge = math.radians(self.sigma) * min(height, width) / 2
        return (
            f"rotations with a standard deviation of {self.sigma:g}°, about {edge:.3g} pixels at the middle of an edge"
        )


@register("scaling")
@dataclass(frozen=True)
class Scaling(Linear):
    """Zoom about the centre. Prior: log zoom ~ N(0, sigma²), positive enlarges the content.

    Severity 1 is the drawn zoom, severity 2 its square."""

    sigma: float = option(0.2, "standard deviation of the logarithm of the zoom")

    parameters: ClassVar = ("log zoom",)

    def deviations(self, batch: Batch) -> Tensor:
        return constant((self.sigma,), batch.images.device)

    def matrices(self, theta: Tensor, height: int, width: int) -> Tensor:
        zoomed = _turn_and_zoom(torch.zeros_like(theta[:, 0]), theta[:, 0])
        return pixel_map_to_matrix(zoomed, torch.zeros_like(theta[:, :1]).expand(-1, 2), height, width)

    def describe(self, height: int, width: int) -> str:
        return f"zooms that lie two times in three between ×{math.exp(-self.sigma):.2f} and ×{math.exp(self.sigma):.2f}"


@register("similarity")
@dataclass(frozen=True)
class Similarity(Linear):
    """Rotation, zoom and shift together, independent in the prior; signs as in the three nuisances alone.

    Severity 1 is the drawn θ; severity 2 doubles angle, log zoom and shifts."""

    rotation: float = option(10.0, "standard deviation of the angle in degrees")
    zoom: float = option(0.1, "standard deviation of the logarithm of the zoom")
    shift: float = option(0.05, "standard deviation of each shift, in `unit`")
    unit: Unit = option("share", "share (of the image's width and height) or pixels, for the shifts")

    parameters: ClassVar = ("angle", "log zoom", "shift x", "shift y")

    def deviations(self, batch: Batch) -> Tensor:
        return constant((self.rotation, self.zoom, self.shift, self.shift), batch.images.device)

    def matrices(self, theta: Tensor, height: int, width: int) -> Tensor:
        shift = _in_pixels(theta[:, 2:], self.unit, height, width)
        return pixel_map_to_matrix(_turn_and_zoom(theta[:, 0], theta[:, 1]), shift, height, width)

    def describe(self, height: int, width: int) -> str:
        pixels = self.shift if self.unit == "pixels" else self.shift * width
        return (
            f"rotations of {self.rotation:g}°, zooms of {100 * self.zoom:.0f} % and shifts of {pixels:.3g} pixels "
            "(standard deviations)"
        )


def affine_deviations(alpha: float, kappa: float) -> tuple[float, ...]:
    """Standard deviations (6,) of N(1, (αG)⁻¹)."""
    return tuple((alpha * kappa * each) ** -0.5 for each in DISPLACEMENT)


def affine_displacement(alpha: float, kappa: float, height: int, width: int) -> float:
    """Root mean square displacement of a pixel under N(1, (αG)⁻¹), over the image and the prior, in pixels."""
    # Each of the six numbers adds 1/(ακ) to the mean squared displacement, half of it across, half down.
    return math.sqrt(3 / (alpha * kappa)) * math.hypot(width / 2, height / 2)


@register("affine")
@dataclass(frozen=True)
class Affine(Linear):
    """Affine maps with Fawzi & Frossard's prior N(1, (αG)⁻¹): smaller alpha, larger transformations.

    θ is the 2×3 matrix [A | t] by columns, in [−1, 1] coordinates. With `metric=image`, G is the metric that the
    image induces (`image_metric`): the prior is wide along maps that change this picture little and narrow along
    those that change it much, and the root mean square displacement is the same as with `metric=uniform`. Severity 1
    is the drawn θ, severity 2 twice as far from the identity."""

    alpha: float = option(100.0, "how tightly the prior holds to the identity; the paper uses 100, 50 and 10")
    kappa: float = option(1.75, "the metric's scale κ, fitted to the paper's table since its definition is lost")
    metric: Literal["uniform", "image"] = option("uniform", "uniform, or image: how much a map changes the picture")

    parameters: ClassVar = ("a11", "a21", "a12", "a22", "shift x", "shift y")

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
        # Σ = (P Pᵀ)⁻¹ = P⁻ᵀ P⁻¹, so θ = 1 + P⁻ᵀ z; draws stand in rows.
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
        return said if self.metric == "uniform" else f"{said}, most along those that change the picture least"
