"""CutMix (Yun et al. 2019): a rectangle of one image is replaced by that of another."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from brittle.mixing import register
from brittle.mixing.base import MASK, PairMix
from brittle.random import fold, uniform


@register("cutmix")
@dataclass(frozen=True, kw_only=True)
class CutMix(PairMix):
    """CutMix (Yun et al. 2019): a rectangle with the image's proportions and 1 − λ of its area comes from the other
    image. Its centre is any pixel; what hangs over the edge is lost, and λ becomes the share that is left."""

    def masks(self, keys: Tensor, height: int, width: int, *, mixed_targets: bool = True, seed: int = 0) -> Tensor:
        side = (1 - self.shares(keys, mixed_targets)).sqrt()
        centre = uniform(fold(keys, MASK), 2)
        down = _covered(centre[:, :1], (side * height).floor(), height)
        across = _covered(centre[:, 1:], (side * width).floor(), width)
        return (~(down[:, :, None] & across[:, None])).float()[:, None]


def _covered(centre: Tensor, length: Tensor, side: int) -> Tensor:
    """Centres (n, 1) as shares of a side and lengths (n, 1) in pixels → which pixels are covered, (n, side)."""
    middle, half = (centre * side).floor(), (length / 2).floor()  # rounded down, as in the authors' code
    place = torch.arange(side, device=centre.device)
    return (place >= middle - half) & (place < middle + half)
