"""Colour: saturation, hue and white balance, each with a few numbers per image. They need three channels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from brittle.cached import table
from brittle.errors import BrittleError
from brittle.nuisances import register
from brittle.nuisances.base.levels import at_level
from brittle.nuisances.light.adjustment import Adjustment, LevelledAdjustment
from brittle.nuisances.ops.broadcast import per_image
from brittle.registry import option
from brittle.types import Batch

SATURATION_LOG_GAIN = tuple(math.log(gain) for gain in (1.0, 0.3, 0.1, 2.0, 5.0, 20.0))
SATURATION_ADDED = (0.0, 0.0, 0.0, 0.0, 0.1, 0.2)


def check_colour(name: str, shape: tuple[int, int, int]) -> None:
    """Refuses images that are not red, green and blue."""
    if shape[0] != 3:
        channels = "1 channel" if shape[0] == 1 else f"{shape[0]} channels"
        raise BrittleError(
            f"the nuisance {name!r} changes colours, but these images have {channels}",
            "Leave it out, or use images with 3 channels (for a folder: channels=rgb).",
        )


@register("saturation")
@dataclass(frozen=True)
class Saturation(LevelledAdjustment):
    """Multiplies the saturation S of HSV by e^θ, hue and value unchanged. Prior: θ ~ N(0, sigma²).

    S is the share by which a pixel's smallest channel lies below its largest; it is clipped to 1. Severity 1 is the
    drawn gain, severity 2 its square. `level`: ImageNet-C's saturate, e^θ·S + a with gains 0.3, 0.1, 2, 5, 20 and
    a = 0, 0, 0, 0.1, 0.2 at levels 1 to 5, log gain and a linear between them: levels 1 and 2 make the image paler,
    3 to 5 deepen its colours, and the added a turns greys red."""

    sigma: float = option(0.5, "standard deviation of the logarithm of the gain", above=0, shown="σ {}")

    @property
    def parameters(self) -> Sequence[str]:
        return ("log saturation",) if self.level is None else ("log saturation", "added saturation")

    tables: ClassVar = (SATURATION_LOG_GAIN, SATURATION_ADDED)

    def check(self, shape: tuple[int, int, int]) -> None:
        check_colour("saturation", shape)

    def apply(self, batch: Batch, theta: Tensor) -> Tensor:
        images, gain = batch.images, per_image(theta[:, :1]).exp()
        value = images.amax(1, keepdim=True)
        below = value - images.amin(1, keepdim=True)  # S = below / value
        limit = value / below.clamp(min=1e-9)
        if self.level is None:
            stretch = torch.minimum(gain, limit)
            return torch.lerp(value, images, stretch).clamp_(0, 1)
        added = per_image(theta[:, 1:])
        stretch = torch.minimum(gain + added * limit, limit)
        # A grey pixel has no hue; like all HSV conversions, ImageNet-C's treats it as red.
        paler = value * (1 - added)
        red = torch.cat((value, paler, paler), 1)
        return torch.where(below > 0, torch.lerp(value, images, stretch), red).clamp_(0, 1)

    def describe(self, height: int, width: int) -> str:
        if self.level is None:
            return f"saturations that lie {self.usual_gains()}"
        log_gain, added = (at_level(table, self.level) for table in self.tables)
        return f"every image with ×{math.exp(log_gain):.2g} of its saturation" + (f" + {added:.2g}" if added else "")


# Luma and the two chroma axes of NTSC colour television (FCC 1953).
_YIQ = (
    (0.30, 0.59, 0.11),
    (0.74 - 0.30 * 0.47, -0.59 * 0.47, -0.27 - 0.11 * 0.47),
    (0.48 - 0.30 * 0.89, -0.59 * 0.89, 0.41 - 0.11 * 0.89),
)


@table(8)
def _turns(dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    """(3, 3) and (3, 3): P and J such that I + (cos a − 1)·P + sin a·J rotates all hues by a."""
    with torch.inference_mode(False):  # cached for later calls, some of which need gradients
        yiq = torch.tensor(_YIQ, dtype=torch.float64)
        chroma = torch.diag(torch.tensor((0.0, 1.0, 1.0), dtype=torch.float64))
        # From I towards Q is from orange to purple; the other way is from red to yellow.
        quarter = torch.tensor(((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, -1.0, 0.0)), dtype=torch.float64)
        plane, turn = (torch.linalg.solve(yiq, each @ yiq).to(dtype=dtype, device=device) for each in (chroma, quarter))
        return plane, turn


@register("hue")
@dataclass(frozen=True)
class Hue(Adjustment):
    """Rotates all hues by an angle, luma unchanged: a rotation in the chroma plane of YIQ. Prior: angle ~ N(0, sigma²).

    In degrees; a positive angle turns red towards yellow and then green. Severity 1 is the drawn angle,
    severity 2 twice the angle; values are then clipped to [0, 1]."""

    sigma: float = option(30.0, "standard deviation of the angle in degrees", above=0, shown="σ {}°")

    parameters: ClassVar = ("angle",)

    def check(self, shape: tuple[int, int, int]) -> None:
        check_colour("hue", shape)

    def apply(self, batch: Batch, theta: Tensor) -> Tensor:
        images = batch.images
        plane, turn = _turns(images.dtype, images.device)
        angle = theta[:, :, None] * (math.pi / 180)
        still = torch.eye(3, dtype=images.dtype, device=images.device)
        matrix = still + (angle.cos() - 1) * plane + angle.sin() * turn
        return torch.bmm(matrix, images.flatten(2)).clamp_(0, 1).view(images.shape)

    def describe(self, height: int, width: int) -> str:
        return f"hues rotated with a standard deviation of {self.sigma:g}° (red to yellow is about 60°)"


@register("white-balance")
@dataclass(frozen=True)
class WhiteBalance(Adjustment):
    """Gains of red and blue, as under light of another colour; green is unchanged. Prior: each log gain ~ N(0, sigma²).

    More red and less blue is warmer. Severity 1 is the drawn gains, severity 2 their squares; values are then
    clipped to 1."""

    sigma: float = option(0.2, "standard deviation of the logarithm of each gain", above=0, shown="σ {}")

    parameters: ClassVar = ("log red gain", "log blue gain")

    def check(self, shape: tuple[int, int, int]) -> None:
        check_colour("white-balance", shape)

    def apply(self, batch: Batch, theta: Tensor) -> Tensor:
        gains = torch.stack((theta[:, 0], torch.zeros_like(theta[:, 0]), theta[:, 1]), 1).exp()
        return (batch.images * per_image(gains)).clamp_(0, 1)

    def describe(self, height: int, width: int) -> str:
        return f"gains of red and of blue that lie {self.usual_gains()}"
