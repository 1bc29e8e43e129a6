"""ImageNet-C's elastic_transform (Hendrycks & Dietterich 2019): a random affine map, then a field of small moves.

The field is noise, uniform on (−1, 1) in every pixel, blurred by a Gaussian and multiplied by a strength. It can fold
the image, which `elastic` never does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from brittle.nuisances import register
from brittle.nuisances.base.corruption import PixelSizedCorruption, field_keys
from brittle.nuisances.base.levels import at_level, strengths
from brittle.nuisances.base.seeds import SEED_NAMES
from brittle.nuisances.ops.separable import filter_rows_and_columns, mirrored_gaussian_matrix
from brittle.nuisances.ops.warp import pixel_centres, resample
from brittle.random import uniform_field
from brittle.registry import option

# Published as multiples of 244 pixels, on images of 224.
STRENGTH = (0.0, 488.0, 488.0, 12.2, 17.08, 29.28)  # by which the blurred noise is multiplied, in pixels
SIGMA = (170.8, 170.8, 19.52, 2.44, 2.44, 2.44)  # of the blur, in pixels
CORNER = (0.0, 24.4, 48.8, 4.88, 4.88, 4.88)  # how far a corner of the affine map moves at most, in pixels
REACH = 3.0  # standard deviations after which the blur is cut off
FLATTEST = 1e-6  # determinant of an affine map, so that none divides by 0


@register("elastic-transform")
@dataclass(frozen=True)
class ElasticTransform(PixelSizedCorruption):
    """ImageNet-C's elastic deformation. Prior: level = level·exp(spread·z), z ~ N(0, 1); the moves of three corners
    uniform on (−1, 1); seed uniform, from which the field is made.

    An affine map moves three corners of the middle two thirds of the image by up to 24, 49, 5, 5 and 5 pixels of 224
    across and down at levels 1 to 5; then every pixel moves by noise that is blurred over 171, 20, 2.4, 2.4 and 2.4
    pixels and multiplied by 488, 488, 12, 17 and 29. What lies outside is mirrored. Levels are not ordered by strength:
    1 and 2 bend the whole image, 3 to 5 ripple it. Severity multiplies the level; corners and seed stay the same."""

    level: float = option(1.0, "ImageNet-C's level at severity 1, any number above 0", above=0)

    parameters: ClassVar = (
        "level",
        *(f"corner {corner} {way}" for corner in (1, 2, 3) for way in ("right", "down")),
        *SEED_NAMES,
    )

    def ranges(self) -> Sequence[tuple[float, float]]:
        return ((-1.0, 1.0),) * 6

    def corrupt(self, images: Tensor, level: Tensor, rest: Tensor) -> Tensor:
        height, width = images.shape[-2:]
        pixels = self.pixels(height, width)
        strength, sigma, corner = strengths(level, STRENGTH, SIGMA, CORNER)
        moves = rest[:, :6].view(-1, 3, 2) * (pixels * corner)[:, None, None]
        bent = _through_corners(images, moves)
        # Blurred over σ pixels, the noise has a standard deviation of about 1/σ: its moves grow with the side only if
        # the strength grows with its square.
        field = self._blurred_noise(field_keys(rest, 0), pixels * sigma, height, width)
        return _moved(bent, (pixels**2 * strength)[:, None, None, None] * field)

    def _blurred_noise(self, keys: Tensor, sigma: Tensor, height: int, width: int) -> Tensor:
        """keys (B,), sigma (B,) in pixels → (B, 2, H, W): two fields of noise on (−1, 1), blurred."""
        noise = uniform_field(keys, 2 * height * width).view(-1, 2, height, width).to(sigma.dtype) * 2 - 1
        widest = max(SIGMA) * self.pixels(height, width)
        across = mirrored_gaussian_matrix(sigma, width, REACH, widest)
        down = across if height == width else mirrored_gaussian_matrix(sigma, height, REACH, widest)
        return filter_rows_and_columns(noise, down, across)

    def picture(self, height: int, width: int) -> str:
        pixels = self.pixels(height, width)
        corner, sigma = (pixels * at_level(table, self.level) for table in (CORNER, SIGMA))
        return (
            f"affine maps that move corners by up to {corner:.2g} pixels, and moves correlated over {sigma:.2g} pixels,"
        )


def _through_corners(images: Tensor, moves: Tensor) -> Tensor:
    """The affine map that moves the corners (1, 1), (1, −1) and (−1, −1), in thirds of the shorter side from the
    middle, by moves (B, 3, 2) in pixels. Outside, the image is mirrored about its outermost pixels."""
    height, width = images.shape[-2:]
    third = max(min(height, width) // 3, 1)
    first, second, last = moves.unbind(1)
    shift = (first + last) / 2
    a, c = (second - last).div(2 * third).unbind(-1)  # what a pixel to the right adds to the move
    b, d = (first - second).div(2 * third).unbind(-1)  # and a pixel down
    a, d = 1 + a, 1 + d
    determinant = a * d - b * c
    determinant = torch.where(determinant.abs() < FLATTEST, FLATTEST, determinant)[:, None, None]
    x = (torch.arange(width, device=images.device) - width // 2) - shift[:, 0, None, None]
    y = (torch.arange(height, device=images.device)[:, None] - height // 2) - shift[:, 1, None, None]
    a, b, c, d = (each[:, None, None] for each in (a, b, c, d))
    across = (d * x - b * y) / determinant + width // 2
    down = (a * y - c * x) / determinant + height // 2
    grid = torch.stack((across * (2 / max(width - 1, 1)) - 1, down * (2 / max(height - 1, 1)) - 1), -1)
    return F.grid_sample(images, grid, "bilinear", "reflection", align_corners=True)


def _moved(images: Tensor, field: Tensor) -> Tensor:
    """Every pixel takes its value from field (B, 2, H, W) pixels to the right and down."""
    height, width = images.shape[-2:]
    x = pixel_centres(width, images.dtype, images.device) + field[:, 0] * (2 / width)
    y = pixel_centres(height, images.dtype, images.device)[:, None] + field[:, 1] * (2 / height)
    return resample(images, torch.stack((x, y), -1), "mirror")
