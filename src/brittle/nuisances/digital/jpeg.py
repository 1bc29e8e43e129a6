"""JPEG (ImageNet-C's jpeg_compression): the losses of a real encoder, batched, bit for bit the same on every machine.

ITU-T T.81: 8×8 cosine transform, the tables of its annex K scaled by quality as libjpeg does, YCbCr with chroma
halved both ways, chroma enlarged by libjpeg's triangle filter. Only the lossless entropy coding is left out.

Rounding would turn the last bit of a sum into a visible difference, and the last bit depends on the batch's size and
on the machine. So every number is a multiple of a power of two, small enough for float32 to add exactly in any order:
pixels are whole, cosines are rounded to 13 bits and colour weights to 16, as libjpeg does in integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from brittle.constants import constant
from brittle.nuisances import register
from brittle.nuisances.base.corruption import Corruption
from brittle.nuisances.base.levels import at_level, strengths
from brittle.nuisances.ops.broadcast import per_image

QUALITY = (100.0, 25.0, 18.0, 15.0, 10.0, 7.0)
FADE_IN = 0.05

LUMINANCE = (
    (16, 11, 10, 16, 24, 40, 51, 61),
    (12, 12, 14, 19, 26, 58, 60, 55),
    (14, 13, 16, 24, 40, 57, 69, 56),
    (14, 17, 22, 29, 51, 87, 80, 62),
    (18, 22, 37, 56, 68, 109, 103, 77),
    (24, 35, 55, 64, 81, 104, 113, 92),
    (49, 64, 78, 87, 103, 121, 120, 101),
    (72, 92, 95, 98, 112, 100, 103, 99),
)
CHROMINANCE = (
    (17, 18, 24, 47, 99, 99, 99, 99),
    (18, 21, 26, 66, 99, 99, 99, 99),
    (24, 26, 56, 99, 99, 99, 99, 99),
    (47, 66, 99, 99, 99, 99, 99, 99),
    *((99,) * 8,) * 4,
)


@lru_cache(maxsize=8)
def _constants(device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """The transform (64 pixels, 64 frequencies), rounded to 13 bits, and the two tables (64,)."""
    with torch.inference_mode(False):
        place, frequency = torch.arange(8, dtype=torch.float64), torch.arange(8, dtype=torch.float64)
        cosines = 0.5 * torch.cos((2 * place + 1) * frequency[:, None] * math.pi / 16)
        cosines[0] /= math.sqrt(2)
        both = torch.kron(cosines, cosines).T.contiguous()
        basis = ((both * 2**13).round() / 2**13).float().to(device)
        bright, chroma = (torch.tensor(t, dtype=torch.float64, device=device) for t in (LUMINANCE, CHROMINANCE))
        return basis, bright.flatten(), chroma.flatten()


def quantisation(table: Tensor, quality: Tensor) -> Tensor:
    """table (64,), quality (B,) from 1 to 100 → (B, 64) whole numbers, float32: libjpeg's scaling."""
    scale = torch.where(quality < 50, 5000 / quality, 200 - 2 * quality).floor()
    return ((table * scale[:, None] + 50) / 100).floor().clamp(1, 255).float()


def code(plane: Tensor, steps: Tensor, basis: Tensor) -> Tensor:
    """plane (B, P, H, W) of whole numbers, H and W multiples of 8; steps (B, 64) → the plane after quantisation."""
    count, planes, height, width = plane.shape
    blocks = plane.view(count, planes, height // 8, 8, width // 8, 8).permute(0, 1, 2, 4, 3, 5).reshape(-1, 64)
    frequencies = (blocks @ basis).view(count, -1, 64)
    frequencies.div_(steps[:, None])
    # Halves are common, since pixels are whole; libjpeg rounds them away from zero.
    frequencies.add_(frequencies.sign().mul_(0.5)).trunc_().mul_(steps[:, None])
    blocks = (frequencies.view(-1, 64) @ basis.T).view(count, planes, height // 8, width // 8, 8, 8)
    return blocks.permute(0, 1, 2, 4, 3, 5).reshape(count, planes, height, width)


def _weighted(image: Tensor, red: float, green: float, blue: float, offset: float) -> Tensor:
    """A colour transform (B, 1, H, W) in 16-bit fixed point, rounded to whole numbers."""
    r, g, b = (round(weight * 2**16) for weight in (red, green, blue))
    total = image[:, 0:1] * r
    total.add_(image[:, 1:2], alpha=g).add_(image[:, 2:3], alpha=b)
    return total.mul_(2**-16).add_(offset + 0.5).floor_()


def _whole_blocks(plane: Tensor) -> Tensor:
    """Repeats the last row up to a multiple of 8, as an encoder does after halving the chroma."""
    missing = -plane.shape[-2] % 8
    return F.pad(plane, (0, 0, 0, missing), mode="replicate") if missing else plane


def jpeg(images: Tensor, quality: Tensor) -> Tensor:
    """images (B, C, H, W) in [0, 1], quality (B,) from 1 to 100 → images after a JPEG encoder and decoder.

    Three channels are colours; any other number are coded as separate grey images."""
    height, width = images.shape[-2:]
    basis, luminance, chrominance = _constants(images.device)
    pixels = (images.detach().float() * 255).round_().clamp_(0, 255)
    pixels = F.pad(pixels, (0, -width % 16, 0, height % 2), mode="replicate")
    steps = quantisation(luminance, quality)
    if images.shape[1] != 3:
        decoded = code(_whole_blocks(pixels.sub_(128)), steps, basis).add_(128).round_()
        return decoded[..., :height, :width].clamp_(0, 255).mul_(1 / 255).to(images.dtype)

    # 128 is subtracted for the transform and added back after it; for chroma it cancels.
    bright = _weighted(pixels, 0.299, 0.587, 0.114, -128)
    blue = _weighted(pixels, -0.168735892, -0.331264108, 0.5, 0)
    red = _weighted(pixels, 0.5, -0.418687589, -0.081312411, 0)
    # libjpeg rounds means of four alternately up and down, so that they do not drift.
    bias = constant((0.25, 0.5), images.device, pixels.dtype).repeat(pixels.shape[-1] // 4)
    chroma = _whole_blocks((F.avg_pool2d(torch.cat((blue, red), 1), 2) + bias).floor_())

    bright = code(_whole_blocks(bright), steps, basis).add_(128).round_().clamp_(0, 255)[..., :height, :width]
    chroma = code(chroma, quantisation(chrominance, quality), basis).round_().clamp_(-128, 127)
    chroma = chroma[..., : (height + 1) // 2, : (width + 1) // 2]
    chroma = F.interpolate(chroma, scale_factor=2, mode="bilinear").round_()[..., :height, :width]
    blue, red = chroma[:, 0], chroma[:, 1]
    decoded = bright.repeat(1, 3, 1, 1)
    decoded[:, 0].add_(red, alpha=1.402)
    decoded[:, 1].sub_(blue, alpha=0.344136286).sub_(red, alpha=0.714136286)
    decoded[:, 2].add_(blue, alpha=1.772)
    return decoded.round_().clamp_(0, 255).mul_(1 / 255).to(images.dtype)


@register("jpeg")
@dataclass(frozen=True)
class Jpeg(Corruption):
    """JPEG compression. Prior: level = level·exp(spread·z), z ~ N(0, 1).

    Quality 25, 18, 15, 10 and 7 at levels 1 to 5 (ImageNet-C), 1 from level 7 on, with libjpeg's tables and chroma
    halved. Quality is any real number; it changes the whole numbers of the tables, so the image changes in small
    steps and no gradient flows to the level. Even quality 100 halves the chroma: below level 0.05 the image fades into
    its compressed version, so that level 0 is the image itself. Severity multiplies the level."""

    title: ClassVar = "JPEG compression"
    differentiable: ClassVar = False

    def corrupt(self, images: Tensor, level: Tensor, rest: Tensor) -> Tensor:
        quality = strengths(level.double(), QUALITY)[0].clamp(1, 100)
        return torch.lerp(images, jpeg(images, quality), per_image((level / FADE_IN).clamp(max=1)))

    def picture(self, height: int, width: int) -> str:
        return f"JPEG of quality {max(at_level(QUALITY, self.level), 1):.3g}"
