"""Translation of images: whole pixels by indexing, and the remainder by interpolating between neighbours.

Coordinates in [−1, 1] can't represent every pixel in float32, so `warp` is off by up to 2·10⁻⁵ even for shifts by
whole pixels. Here a shift by whole pixels copies values, bit for bit, on every device.
"""

from __future__ import annotations

from functools import lru_cache, partial

import torch
import torch.nn.functional as F
from torch import Tensor

from brittle.constants import constant
from brittle.nuisances.ops.pieces import by_pieces
from brittle.nuisances.ops.warp import Outside

_PIECE = 600_000

# Keys' (1981) cubic kernel with grid_sample's a = −3/4: what 1, t, t² and t³ contribute to the weights of the previous
# pixel, the pixel itself and the next two, for a place a share t of the way to the next pixel.
_KEYS = (
    (0.0, 1.0, 0.0, 0.0),
    (-0.75, 0.0, 0.75, 0.0),
    (1.5, -2.25, 1.5, -0.75),
    (-0.75, 1.25, -1.25, 0.75),
)


def translate(images: Tensor, shift: Tensor, fill: Outside = 0.0, cubic: bool = False) -> Tensor:
    """images (B, C, H, W), shift (B, 2) in pixels → images: a pixel at (x, y) takes its value from (x, y) + shift.

    Bilinear or bicubic: the same as `warp` with this shift, except for its rounding."""
    moved = partial(_translate, fill=fill, cubic=cubic)
    return by_pieces(moved, _PIECE, images, shift)


def _translate(images: Tensor, shift: Tensor, fill: Outside, cubic: bool) -> Tensor:
    whole = shift.detach().floor()
    left, top = whole.long()[..., None].unbind(1)
    across, down = _weights(shift - whole, cubic).unbind(1)
    if not isinstance(fill, str):
        images = F.pad(images, (1, 1, 1, 1), value=fill)
    count, channels, height, width = images.shape
    rows, columns = _places(top, height, fill, cubic), _places(left, width, fill, cubic)
    planes = _steps(0, count * channels * height, height, images.device).view(count, channels, 1)
    moved = images.reshape(-1, width).index_select(0, (planes + rows[:, None]).view(-1))
    moved = _mixed(moved.view(count, channels, -1, width), 2, down)
    moved = moved.gather(3, columns[:, None, None].expand(-1, channels, moved.shape[2], -1))
    moved = _mixed(moved, 3, across)
    return moved.clamp(0, 1) if cubic else moved  # the cubic kernel overshoots at edges


@lru_cache(maxsize=64)
def _steps(start: int, stop: int, step: int, device: torch.device) -> Tensor:
    with torch.inference_mode(False):  # cached for later calls, some of which need gradients
        return torch.arange(start, stop, step, device=device)


def _places(whole: Tensor, side: int, fill: Outside, cubic: bool) -> Tensor:
    """Whole shifts (B, 1) → indices along a side (B, n): the pixels' sources, and their neighbours at the ends."""
    before, after = (1, 2) if cubic else (0, 1)
    if not isinstance(fill, str):  # the side has a pixel of fill at either end
        return (whole + _steps(1 - before, side - 1 + after, 1, whole.device)).clamp_(0, side - 1)
    places = whole + _steps(-before, side + after, 1, whole.device)
    if fill == "edge":
        return places.clamp_(0, side - 1)
    places = places.remainder_(2 * side)
    return torch.minimum(places, 2 * side - 1 - places)


def _weights(share: Tensor, cubic: bool) -> Tensor:
    """Shares (B, 2) of the way to the next pixel → (B, 2, n, 1, 1, 1): that share, or the weights of four pixels."""
    if cubic:
        powers = share[..., None, None] ** constant((0.0, 1.0, 2.0, 3.0), share.device, share.dtype)[:, None]
        share = (powers * constant(sum(_KEYS, ()), share.device, share.dtype).view(4, 4)).sum(2)
    return share.view(*share.shape[:2], -1, 1, 1, 1)


def _mixed(values: Tensor, dim: int, weights: Tensor) -> Tensor:
    """Interpolates each value with its neighbours along an axis."""
    if weights.shape[1] == 1:
        count = values.shape[dim] - 1
        return torch.lerp(values.narrow(dim, 0, count), values.narrow(dim, 1, count), weights[:, 0])
    count = values.shape[dim] - 3
    mixed = values.narrow(dim, 0, count) * weights[:, 0]
    for place in (1, 2, 3):
        mixed = torch.addcmul(mixed, values.narrow(dim, place, count), weights[:, place])
    return mixed
