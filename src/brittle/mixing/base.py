"""What a mix is: a mask m (H, W) in [0, 1] that makes m·x + (1 − m)·x′ out of an image x and its partner x′.

All published mixes have this form. They differ in their masks; the mean of a mask is the image's share λ.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from brittle.nuisances.occlusion.shares import ShareLaw
from brittle.random import fold, uniform
from brittle.registry import option

SHARE, MASK = 0, 1  # streams of a key: the share, and the mask of that share


@dataclass(frozen=True, kw_only=True)
class Mix(ABC):
    pairs: ClassVar[bool] = True  # whether there is a partner; without one, x′ is black
    per_image: ClassVar[bool] = False  # whether each image has its own mask; otherwise a batch shares one

    @abstractmethod
    def masks(self, keys: Tensor, height: int, width: int, *, mixed_targets: bool = True, seed: int = 0) -> Tensor:
        """keys (n,) → masks (n, 1, H, W), or (n, 1, 1, 1) if constant: the weight of the first image, float32.

        `mixed_targets` says which objective the shares are drawn for; `seed` is that of the training."""


@dataclass(frozen=True, kw_only=True)
class PairMix(Mix):
    """A mix of two images: λ ~ Beta(α, α), or Beta(α + 1, α) if the target is the first image's label alone."""

    alpha: float = option(
        1.0, "the first image's share is drawn from Beta(alpha, alpha), if targets are mixed", above=0, most=1e6
    )

    def shares(self, keys: Tensor, mixed_targets: bool) -> Tensor:
        """keys (n,) → λ (n, 1), float64."""
        law = ShareLaw(law="beta", a=self.alpha if mixed_targets else self.alpha + 1, b=self.alpha)
        return law.draw_share(uniform(fold(keys, SHARE), 1))
