"""Light with one number per image: brightness, contrast, gamma."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from brittle.nuisances import register
from brittle.nuisances.base.levels import at_level
from brittle.nuisances.light.adjustment import Adjustment, LevelledAdjustment
from brittle.nuisances.ops.broadcast import per_image
from brittle.nuisances.ops.pieces import on_host, pieces
from brittle.registry import option
from brittle.types import Batch

BRIGHTNESS_ADDED = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
CONTRAST_LOG_GAIN = tuple(math.log(gain) for gain in (1.0, 0.4, 0.3, 0.2, 0.1, 0.05))
GAMMA_PIECE = 300_000  # values that each of a CPU's threads changes at a time


@register("brightness")
@dataclass(frozen=True)
class Brightness(LevelledAdjustment):
    """Adds the same amount of light everywhere, x + θ. Prior: θ ~ N(0, sigma²), where white is 1.

    Severity 1 is the drawn amount, severity 2 twice as much; values are then clipped to [0, 1].
    `level`: ImageNet-C's brightness, which adds 0.1 to 0.5 to the largest of a pixel's channels and scales the others
    with it, so that hue and saturation are unchanged (the value of HSV)."""

    sigma: float = option(0.2, "standard deviation of the added light, where white is 1", above=0, shown="σ {}")

    parameters: ClassVar = ("added light",)

    tables: ClassVar = (BRIGHTNESS_ADDED,)

    def apply(self, batch: Batch, theta: Tensor) -> Tensor:
        images, added = batch.images, per_image(theta)
        if self.level is None or images.shape[1] == 1:
            return torch.add(images, added).clamp_(0, 1)
        value = images.amax(1, keepdim=True)
        brighter = (value + added).clamp(0, 1)
        scaled = images * (brighter / value.clamp(min=1e-9))
        return torch.where(value > 0, scaled, brighter).clamp_(0, 1)

    def describe(self, height: int, width: int) -> str:
        if self.level is None:
            return f"brightness with a standard deviation of {100 * self.sigma:.3g} % of the range from black to white"
        added = min(at_level(self.tables[0], self.level), 1.0)
        return f"every image brighter by {100 * added:.3g} % of the range from black to white"


@register("contrast")
@dataclass(frozen=True)
class Contrast(LevelledAdjustment):
    """Stretches each channel about its mean over the image, m + e^θ·(x − m). Prior: θ ~ N(0, sigma²).

    Severity 1 is the drawn gain e^θ, severity 2 its square; values are then clipped to [0, 1]. A negative θ reduces it.
    `level`: the gain is 0.4, 0.3, 0.2, 0.1 and 0.05 at ImageNet-C's levels 1 to 5, and its logarithm is linear
    between them, so that no level turns the image into its negative."""

    sigma: float = option(0.4, "standard deviation of the logarithm of the gain", above=0, shown="σ {}")

    parameters: ClassVar = ("log contrast",)

    tables: ClassVar = (CONTRAST_LOG_GAIN,)

    def apply(self, batch: Batch, theta: Tensor) -> Tensor:
        gain, mean = per_image(theta).exp(), batch.images.mean((2, 3), keepdim=True)
        return torch.addcmul(mean * (1 - gain), batch.images, gain).clamp_(0, 1)

    def describe(self, height: int, width: int) -> str:
        if self.level is None:
            return f"contrasts that lie {self.usual_gains()}"
        return f"every image with ×{math.exp(at_level(self.tables[0], self.level)):.2g} of its contrast"


@register("gamma")
@dataclass(frozen=True)
class Gamma(Adjustment):
    """A gamma curve, x^γ with γ = e^θ: black and white stay, and what is between moves. Prior: θ ~ N(0, sigma²).

    A positive θ darkens. Severity 1 is the drawn exponent, severity 2 its square."""

    sigma: float = option(0.4, "standard deviation of the logarithm of the exponent", above=0, shown="σ {}")

    parameters: ClassVar = ("log gamma",)

    def apply(self, batch: Batch, theta: Tensor) -> Tensor:
        return power(batch.images, per_image(theta).exp())

    def describe(self, height: int, width: int) -> str:
        dark, bright = (100 * 0.5 ** math.exp(sign * self.sigma) for sign in (1, -1))
        return f"gamma curves that take mid-grey (50 %) to between {dark:.0f} and {bright:.0f} % two times in three"


def power(images: Tensor, exponents: Tensor) -> Tensor:
    """images (B, C, H, W) ≥ 0, exponents (B, 1, 1, 1) > 0 → x^γ; on a CPU as 2^(γ log₂ x), three times as fast and as
    exact in absolute terms: the error of y = x^γ grows with |y ln y|, which is less than 1/e."""
    if not on_host(images, exponents):
        return images.pow(exponents)
    result = torch.empty_like(images, memory_format=torch.contiguous_format)
    with np.errstate(divide="ignore"):  # black: 2^−∞ is 0
        for some, exponent, place in pieces(GAMMA_PIECE, images, exponents * (1 / math.log(2)), result):
            np.log(some.numpy(), out=place.numpy())
            place.mul_(exponent).exp2_()
    return result
