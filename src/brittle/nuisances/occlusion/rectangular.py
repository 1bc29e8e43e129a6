"""Rectangular occlusion (Fawzi & Frossard 2016, section 3.2): p(θ) ∝ exp(−occluded pixels / s)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.nuisances import register
from brittle.nuisances.occlusion.occluder import BlindOccluder
from brittle.nuisances.ops.rectangle_chart import pull, push
from brittle.nuisances.ops.rectangles import draw, prior, rectangles_mask, union_area
from brittle.registry import option
from brittle.types import Batch

_SIDES = ("left", "top", "right", "bottom")


@register("occlusion")
@dataclass(frozen=True)
class Occlusion(BlindOccluder):
    """Rectangles that hide part of the image. Prior: p(θ) ∝ exp(−O / s), with O the number of hidden pixels, each
    counted once however many rectangles cover it.

    s is scale·H·W, so that `scale` is the hidden share at which the prior falls to 1/e; or, with `sigma`, the
    paper's σ² in pixels. The paper's σ = 2000 is nearly flat: on 224×224 no O comes near σ² = 4,000,000, and any
    rectangle is as likely as any other.

    θ is the upper left and the lower right corner of each rectangle, in pixels: left and top are the first column and
    row that it hides, right and bottom the first that it no longer hides. The support is 0 ≤ left < right ≤ W and
    0 ≤ top < bottom ≤ H in whole pixels, each b-tuple of rectangles once. A real corner counts as the nearest whole
    one, so that the density at a real θ is the probability of the whole θ it rounds to, and 0 if that is outside the
    support. log_prior is normalised (to about a hundredth for several rectangles).

    Severity s below 1 hides rectangles of s times the area about the same centres; beyond 1 they keep growing, clipped
    at the image's border. The identity is the empty rectangle θ = 0, which the prior itself never draws."""

    rectangles: int = option(1, "how many rectangles", least=1, most=16)
    scale: float | None = option(
        None, "hidden share of the image at which the prior falls to 1/e (default 0.05)", above=0
    )
    sigma: float | None = option(
        None, "instead of scale: the paper's σ, whose square is that number of pixels", above=0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scale is not None and self.sigma is not None:
            raise BrittleError("options 'scale' and 'sigma' both set the prior's width", "Give one of them.")

    def pixels(self, height: int, width: int) -> float:
        """s: the number of hidden pixels at which the prior falls to 1/e."""
        if self.sigma is not None:
            return self.sigma**2
        return (0.05 if self.scale is None else self.scale) * height * width

    @property
    def on_host(self) -> bool:
        """Tables of sizes, and how many draws several rectangles take."""
        return True

    @property
    def parameter_units(self) -> dict[str, str]:
        return dict.fromkeys(self.mask_names, "pixels")

    @property
    def mask_names(self) -> tuple[str, ...]:
        if self.rectangles == 1:
            return _SIDES
        return tuple(f"{side} {place + 1}" for place in range(self.rectangles) for side in _SIDES)

    def mask_size(self, batch: Batch) -> int:
        return 4 * self.rectangles

    def mask_latent(self, batch: Batch) -> None:
        return None

    def mask_push(self, z: Tensor, batch: Batch) -> Tensor:
        raise BrittleError("occlusion has no latent form", "Draw θ with sample.")

    def check(self, shape: tuple[int, int, int]) -> None:
        super().check(shape)
        _, height, width = shape
        acceptance = prior(height, width, self.pixels(height, width), self.rectangles).acceptance
        if acceptance < 1 / 2000:
            raise BrittleError(
                f"{self.rectangles} rectangles can't be drawn in reasonable time from a prior this narrow: on "
                f"{height}×{width} images one proposal in {1 / max(acceptance, 1e-99):.0g} is accepted",
                "Use fewer rectangles or a larger scale.",
            )

    def sample(self, batch: Batch, keys: Tensor) -> Tensor:
        height, width = batch.images.shape[-2:]
        corners = draw(keys, height, width, self.pixels(height, width), self.rectangles).flatten(-2)
        return torch.cat((corners, self.draw_filling(keys)), -1).to(batch.images.dtype)

    def mask_log_prior(self, theta: Tensor, batch: Batch) -> Tensor:
        height, width = batch.images.shape[-2:]
        s = self.pixels(height, width)
        corners = _rectangles(_whole_pixels(theta.double()))
        left, top, right, bottom = corners.unbind(-1)
        inside = (left >= 0) & (left < right) & (right <= width) & (top >= 0) & (top < bottom) & (bottom <= height)
        density = -union_area(corners) / s - prior(height, width, s, self.rectangles).log_total
        return torch.where(inside.all(-1), density, -math.inf).to(theta.dtype)

    def parts(self, batch: Batch) -> int:
        return 0 if self._filling_names else self.rectangles

    def from_parts(self, z: Tensor, batch: Batch) -> Tensor:
        height, width = batch.images.shape[-2:]
        return push(_rectangles(z.double()), height, width, self.pixels(height, width)).flatten(-2).to(z.dtype)

    def to_parts(self, theta: Tensor, keys: Tensor, batch: Batch) -> Tensor:
        height, width = batch.images.shape[-2:]
        corners = _rectangles(_whole_pixels(theta.double()))
        return pull(corners, keys, height, width, self.pixels(height, width)).flatten(-2)

    def log_coupling(self, theta: Tensor, batch: Batch) -> Tensor:
        height, width = batch.images.shape[-2:]
        s = self.pixels(height, width)
        corners = _rectangles(_whole_pixels(theta.double()))
        together = -union_area(corners) / s - prior(height, width, s, self.rectangles).log_total
        alone = -union_area(corners[..., None, :]) / s - prior(height, width, s, 1).log_total
        return together - alone.sum(-1)

    def mask_at(self, theta: Tensor, severity: Tensor, batch: Batch) -> Tensor:
        height, width = batch.images.shape[-2:]
        corners = _rectangles(theta)
        first, last = corners[..., :2], corners[..., 2:]
        centre, half = (first + last) / 2, (last - first) / 2 * severity[..., None].sqrt()
        first, last = (centre - half).clamp(min=0), centre + half
        right, bottom = last[..., :1].clamp(max=width), last[..., 1:].clamp(max=height)
        return torch.cat((first, right, bottom), -1).flatten(-2)

    def hidden(self, theta: Tensor, height: int, width: int) -> Tensor:
        return rectangles_mask(_rectangles(_whole_pixels(theta)), height, width)

    def describe(self, height: int, width: int) -> str:
        s = self.pixels(height, width)
        mean = prior(height, width, s, self.rectangles).mean
        what = "a rectangle that hides" if self.rectangles == 1 else f"{self.rectangles} rectangles that together hide"
        flat = f"; nearly flat, since s is {s / (height * width):.2g} times the image" if s > height * width else ""
        return (
            f"{what} {100 * mean / (height * width):.2g} % of the image on average ({mean:.0f} of {height * width} "
            f"pixels), filled with {self.filled_with}{flat}"
        )


def _rectangles(theta: Tensor) -> Tensor:
    """(..., 4 b) → (..., b, 4)."""
    return theta.reshape(*theta.shape[:-1], -1, 4)


def _whole_pixels(corners: Tensor) -> Tensor:
    """The nearest whole number; halves are rounded up."""
    return (corners + 0.5).floor()
