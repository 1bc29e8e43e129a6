"""MixUp (Zhang et al. 2018): λx + (1 − λ)x′."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from brittle.mixing import register
from brittle.mixing.base import PairMix


@register("mixup")
@dataclass(frozen=True, kw_only=True)
class MixUp(PairMix):
    """MixUp (Zhang et al. 2018): two images are averaged, λ of one and 1 − λ of the other."""

    def masks(self, keys: Tensor, height: int, width: int, *, mixed_targets: bool = True, seed: int = 0) -> Tensor:
        return self.shares(keys, mixed_targets).float()[..., None, None]
