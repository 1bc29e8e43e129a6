"""Random masks (Marcu & Prügel-Bennett 2022, section 3): FMix with a few masks that never change."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from brittle.mixing import register
from brittle.mixing.base import MASK
from brittle.mixing.fmix import FMix
from brittle.random import fold, stream_root, uniform
from brittle.registry import option


@register("random-masks")
@dataclass(frozen=True, kw_only=True)
class RandomMasks(FMix):
    """Random masks (Marcu & Prügel-Bennett 2022): a few masks of FMix, each with its share, are drawn when training
    begins. Each batch uses one of them."""

    count: int = option(3, "how many masks there are", least=1, most=1000)

    def masks(self, keys: Tensor, height: int, width: int, *, mixed_targets: bool = True, seed: int = 0) -> Tensor:
        chosen = (uniform(fold(keys, MASK), 1)[:, 0] * self.count).long()
        return _fixed(self, height, width, mixed_targets, seed, keys.device)[chosen]


@lru_cache(maxsize=16)
def _fixed(mix: RandomMasks, height: int, width: int, mixed_targets: bool, seed: int, device: torch.device) -> Tensor:
    """A training's masks (count, 1, H, W)."""
    numbers = torch.arange(mix.count, device=device)
    return mix.fourier_masks(fold(stream_root(seed, "random masks", device), numbers), height, width, mixed_targets)
