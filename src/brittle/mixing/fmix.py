"""FMix (Harris et al. 2020): masks of low-frequency noise, whose share is exact."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from brittle.mixing import register
from brittle.mixing.base import MASK, PairMix
from brittle.nuisances.occlusion.fourier_mask import FourierMask
from brittle.random import fold, normal
from brittle.registry import option
from brittle.types import Batch


@register("fmix")
@dataclass(frozen=True, kw_only=True)
class FMix(PairMix):
    """FMix (Harris et al. 2020): one image shows through blobs of low-frequency noise, which cover exactly the share λ,
    rounded to whole pixels, and the other one around them."""

    decay: float = option(3.0, "power with which the noise's spectrum falls: larger, smoother", above=0)

    def masks(self, keys: Tensor, height: int, width: int, *, mixed_targets: bool = True, seed: int = 0) -> Tensor:
        return self.fourier_masks(keys, height, width, mixed_targets)

    def fourier_masks(self, keys: Tensor, height: int, width: int, mixed_targets: bool) -> Tensor:
        noise, none = FourierMask(decay=self.decay), torch.empty(0, dtype=torch.int64)
        numbers = noise.mask_size(Batch(torch.empty(0, 1, height, width), none, none)) - 1
        theta = torch.cat((self.shares(keys, mixed_targets), normal(fold(keys, MASK), numbers)), -1)
        return noise.hidden(theta, height, width).float()
