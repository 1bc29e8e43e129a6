"""CutOut (DeVries & Taylor 2017): a square of each image is hidden."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from brittle.mixing import register
from brittle.mixing.base import MASK, Mix
from brittle.random import fold, uniform
from brittle.registry import option


@register("cutout")
@dataclass(frozen=True, kw_only=True)
class CutOut(Mix):
    """CutOut (DeVries & Taylor 2017): a square of each image becomes black, in every image another one. Its centre is
    any pixel, so it may hang over the edge. There is no second image, and labels stay as they are."""

    pairs: ClassVar[bool] = False
    per_image: ClassVar[bool] = True

    size: int = option(16, "pixels per side of the square; an odd number is rounded down to an even one", least=2)

    def masks(self, keys: Tensor, height: int, width: int, *, mixed_targets: bool = True, seed: int = 0) -> Tensor:
        centre, half = uniform(fold(keys, MASK), 2), self.size // 2
        covered = []
        for place, side in enumerate((height, width)):
            middle, pixel = (centre[:, place, None] * side).floor(), torch.arange(side, device=keys.device)
            covered.append((pixel >= middle - half) & (pixel < middle + half))
        return (~(covered[0][:, :, None] & covered[1][:, None])).float()[:, None]
