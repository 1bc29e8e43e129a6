"""JPEG (ImageNet-C's jpeg_compression): the losses of a real encoder, batched, bit for bit the same on every machine.

ITU-T T.81: 8×8 cosine transform, the tables of its annex K scaled by quality as libjpeg does, YCbCr with chroma
halved both ways, chroma enlarged by libjpeg's triangle filter. Only the lossless entropy coding is left out.

Rounding would turn the last bit of a sum into a visible difference, and the last bit depends on the batch's size and
on the machine. So every number is a multiple of a power of two, small enough for float32 to add exactly in any order:
pixels are whole, cosines are rounded to 13 bits and colour weights to 16, as libjpeg does in integers.
"""

from __future__ import annotations

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
from brittle.nuisances.digital import jpeg_planes, jpeg_rows
from brittle.nuisances.ops.broadcast import per_image
from brittle.nuisances.ops.pieces import on_host

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


def quantisation(table: Tensor, quality: Tensor) -> Tensor:
    """table (64,), quality (B,) from 1 to 100 → (B, 64) whole numbers, float32: libjpeg's scaling."""
    scale = torch.where(quality < 50, 5000 / quality, 200 - 2 * quality).floor()
    return ((table * scale[:, None] + 50) / 100).floor().clamp(1, 255).float()


def _weighted(image: Tensor, red: float, green: float, blue: float, offset: float) -> Tensor:
    """A colour transform (B, 1, H, W) in 16-bit fixed point, rounded to whole numbers."""
    r, g, b = (round(weight * 2**16) / 2**16 for weight in (red, green, blue))
    start = constant((offset + 0.5,), image.device, image.dtype)
    return torch.add(start, image[:, 0:1], alpha=r).add_(image[:, 1:2], alpha=g).add_(image[:, 2:3], alpha=b).floor_()


def _to_multiples(planes: Tensor, across: int, down: int) -> Tensor:
    """Repeats the last column and row up to a multiple of these, as encoders do."""
    height, width = planes.shape[-2:]
    missing = (0, -width % across, 0, -height % down)
    padded: Tensor = F.pad(planes, missing, mode="replicate") if any(missing) else planes
    return padded


@lru_cache(maxsize=8)
def _tables(device: torch.device) -> tuple[Tensor, Tensor]:
    """Annex K's two tables (64,)."""
    with torch.inference_mode(False):
        bright, chroma = (torch.tensor(t, dtype=torch.float64, device=device) for t in (LUMINANCE, CHROMINANCE))
        return bright.flatten(), chroma.flatten()


def both_steps(quality: Tensor) -> Tensor:
    """quality (B,) from 1 to 100 → (B, 2, 64) the steps of luminance and of chrominance."""
    return torch.stack([quantisation(table, quality) for table in _tables(quality.device)], 1)


def jpeg(images: Tensor, quality: Tensor) -> Tensor:
    """images (B, C, H, W) in [0, 1], quality (B,) from 1 to 100 → images after a JPEG encoder and decoder."""
    return recoded(images, both_steps(quality), torch.empty_like(images, dtype=torch.float32)).to(images.dtype)


def recoded(images: Tensor, steps: Tensor, place: Tensor) -> Tensor:
    """images (B, C, H, W) in [0, 1], `both_steps` (B, 2, 64) → images after a JPEG encoder and decoder, in `place`.

    Three channels are colours; any other number are coded as separate grey images."""
    height, width = images.shape[-2:]
    planes = jpeg_rows if on_host(images) else jpeg_planes
    luminance, chrominance = steps.unbind(1)
    pixels = (images.detach().float() * 255).round_().clamp_(0, 255)
    pixels = _to_multiples(pixels, 16, 2)
    if images.shape[1] != 3:
        decoded = planes.coded(_to_multiples(pixels.sub_(128), 8, 8), luminance).add_(128).round_()
        return place.copy_(decoded[..., :height, :width]).clamp_(0, 255).mul_(1 / 255)

    # 128 is subtracted for the transform and added back after it; for chroma it cancels.
    bright = _weighted(pixels, 0.299, 0.587, 0.114, -128)
    blue = _weighted(pixels, -0.168735892, -0.331264108, 0.5, 0)
    red = _weighted(pixels, 0.5, -0.418687589, -0.081312411, 0)
    chroma = _to_multiples(torch.cat((planes.halved(blue), planes.halved(red)), 1), 8, 8)

    bright = planes.coded(_to_multiples(bright, 8, 8), luminance).add_(128).round_().clamp_(0, 255)
    chroma = planes.coded(chroma, chrominance).round_().clamp_(-128, 127)
    chroma = planes.doubled(chroma[..., : (height + 1) // 2, : (width + 1) // 2])[..., :height, :width]
    blue, red = chroma[:, 0], chroma[:, 1]
    # Expanded by hand: what writes graphs for onnxruntime would leave `place` with one channel.
    place.copy_(bright[..., :height, :width].expand(place.shape))
    place[:, 0].add_(red, alpha=1.402)
    place[:, 1].sub_(blue, alpha=0.344136286).sub_(red, alpha=0.714136286)
    place[:, 2].add_(blue, alpha=1.772)
    return place.round_().clamp_(0, 255).mul_(1 / 255)


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
    piece: ClassVar = 900_000

    def prepare(self, images: Tensor, level: Tensor, rest: Tensor) -> tuple[Tensor, Tensor]:
        """Levels, and the encoder's steps."""
        return level, both_steps(strengths(level.double(), QUALITY)[0].clamp(1, 100))

    def corrupt(self, images: Tensor, level: Tensor, rest: Tensor) -> Tensor:
        decoded = recoded(images, rest, torch.empty_like(images, dtype=torch.float32)).to(images.dtype)
        return torch.lerp(images, decoded, per_image((level / FADE_IN).clamp(max=1)))

    def corrupt_into(self, place: Tensor, images: Tensor, level: Tensor, rest: Tensor) -> None:
        if on_host(images, level) and images.dtype == torch.float32 and level.min() >= FADE_IN:
            recoded(images, rest, place)  # which is all of it, and in range
        else:
            super().corrupt_into(place, images, level, rest)

    def picture(self, height: int, width: int) -> str:
        return f"JPEG of quality {max(at_level(QUALITY, self.level), 1):.3g}"
