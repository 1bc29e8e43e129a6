"""Translation, rotation, scaling, and all three together: similarity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from brittle.constants import constant
from brittle.nuisances import register
from brittle.nuisances.geometry.geometric import MatrixNuisance, Unit
from brittle.nuisances.ops.translate import translate
from brittle.nuisances.ops.warp import pixel_map_to_matrix
from brittle.registry import option
from brittle.types import Batch


def _shift_units(unit: Unit) -> dict[str, str]:
    sides = {"shift x": "width", "shift y": "height"}
    return {name: "pixels" if unit == "pixels" else f"share of the {side}" for name, side in sides.items()}


def _in_pixels(theta: Tensor, unit: Unit, height: int, width: int) -> Tensor:
    """Shifts (B, 2) in `unit` → pixels."""
    return theta if unit == "pixels" else theta * constant((width, height), theta.device, theta.dtype)


def _whole_within_rounding(shift: Tensor) -> Tensor:
    """Shifts computed from shares → the same with two bits less, so that whole pixels are exactly whole.

    A share such as 7/49 is rounded when it is stored, and again when multiplied by the side, which can leave it one ulp
    away from 7. This is Veltkamp's splitting; its gradient is 1."""
    fivefold = 5 * shift
    return fivefold - (fivefold - shift)


def _turn_and_zoom(degrees: Tensor, log_zoom: Tensor) -> Tensor:
    """(B,), (B,) → (B, 2, 2): the content turns clockwise by `degrees` and grows by e^log_zoom."""
    angle, shrink = degrees * (math.pi / 180), torch.exp(-log_zoom)
    cos, sin = shrink * torch.cos(angle), shrink * torch.sin(angle)
    return torch.stack((torch.stack((cos, sin), -1), torch.stack((-sin, cos), -1)), -2)


@register("translation")
@dataclass(frozen=True)
class Translation(MatrixNuisance):
    """Shifts. Prior: each of shift x and shift y ~ N(0, sigma²); a positive shift moves the content left or up.

    Severity 1 is the drawn shift, severity 2 twice as far."""

    sigma: float = option(0.1, "standard deviation of each shift, in `unit`", above=0, shown="σ {}")
    unit: Unit = option("share", "share (of the image's width and height) or pixels")

    parameters: ClassVar = ("shift x", "shift y")
    upright: ClassVar = True

    @property
    def parameter_units(self) -> dict[str, str]:
        return _shift_units(self.unit)

    def deviations(self, batch: Batch) -> Tensor:
        return constant((self.sigma, self.sigma), batch.images.device)

    def matrices(self, theta: Tensor, height: int, width: int) -> Tensor:
        still = torch.eye(2, dtype=theta.dtype, device=theta.device).expand(len(theta), 2, 2)
        return pixel_map_to_matrix(still, _in_pixels(theta, self.unit, height, width), height, width)

    def apply(self, batch: Batch, theta: Tensor) -> Tensor:
        if self.interpolation == "nearest":  # moves whole pixels, whatever the rounding
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
class Rotation(MatrixNuisance):
    """Rotation about the centre. Prior: angle ~ N(0, sigma²) in degrees, positive turns the content clockwise.

    Severity 1 is the drawn angle, severity 2 twice the angle."""

    sigma: float = option(15.0, "standard deviation of the angle in degrees", above=0, shown="σ {}°")

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
class Scaling(MatrixNuisance):
    """Zoom about the centre. Prior: log zoom ~ N(0, sigma²), positive enlarges the content.

    Severity 1 is the drawn zoom, severity 2 its square."""

    sigma: float = option(0.2, "standard deviation of the logarithm of the zoom", above=0, shown="σ {}")

    parameters: ClassVar = ("log zoom",)
    upright: ClassVar = True

    def deviations(self, batch: Batch) -> Tensor:
        return constant((self.sigma,), batch.images.device)

    def matrices(self, theta: Tensor, height: int, width: int) -> Tensor:
        zoomed = _turn_and_zoom(torch.zeros_like(theta[:, 0]), theta[:, 0])
        return pixel_map_to_matrix(zoomed, torch.zeros_like(theta[:, :1]).expand(-1, 2), height, width)

    def describe(self, height: int, width: int) -> str:
        return f"zooms that lie two times in three between ×{math.exp(-self.sigma):.2f} and ×{math.exp(self.sigma):.2f}"


@register("similarity")
@dataclass(frozen=True)
class Similarity(MatrixNuisance):
    """Rotation, zoom and shift together, independent in the prior; signs as in the three separate nuisances.

    Severity 1 is the drawn θ; severity 2 doubles angle, log zoom and shifts."""

    rotation: float = option(10.0, "standard deviation of the angle in degrees", above=0)
    zoom: float = option(0.1, "standard deviation of the logarithm of the zoom", above=0)
    shift: float = option(0.05, "standard deviation of each shift, in `unit`", above=0)
    unit: Unit = option("share", "share (of the image's width and height) or pixels, for the shifts")

    parameters: ClassVar = ("angle", "log zoom", "shift x", "shift y")

    @property
    def parameter_units(self) -> dict[str, str]:
        return _shift_units(self.unit)

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
