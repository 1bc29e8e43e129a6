"""The network of `bundled:plain` and `bundled:augmented`, and how each was trained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from brittle.classifiers.bundled import FASHION_LABELS, SmallNet
from brittle.nuisances import nuisance
from brittle.random import fold, uniform
from brittle.registry import option
from brittle.training import register
from brittle.training.augmentation import Transform
from brittle.training.options import Recipe
from brittle.types import Batch, Nuisance

CYCLE = Recipe(epochs=12, batch=256, rate=3e-3, optimiser="adamw", decay=0.05, schedule="cosine", warm_up=0.2)
WHETHER, WHICH = 0, 1  # streams of an image's key: whether it is warped, and by which θ


def warped(batch: Batch, keys: Tensor, share: float, how: Nuisance) -> Batch:
    """A random `share` of the images, transformed by draws from the prior; the others unchanged."""
    theta = how.sample(batch, fold(keys, WHICH)[:, None])[:, 0]
    chosen = uniform(fold(keys, WHETHER), 1) < share
    return batch._replace(images=how.apply(batch, torch.where(chosen, theta, how.identity(batch))))


@register("small-plain")
@dataclass(frozen=True)
class SmallPlain:
    """A network the size of LeNet, trained on unchanged images: that of bundled:plain."""

    shape: ClassVar[tuple[int, int, int]] = (1, 28, 28)
    classes: ClassVar[int] = len(FASHION_LABELS)
    recipe: ClassVar[Recipe] = CYCLE
    capture: ClassVar[bool] = True
    factory: ClassVar[str] = "brittle.classifiers.bundled:SmallNet"

    def module(self) -> nn.Module:
        return SmallNet()

    def transform(self) -> Transform | None:
        return None


@register("small-augmented")
@dataclass(frozen=True)
class SmallAugmented(SmallPlain):
    """The network of small-plain, trained on images most of which are warped: that of bundled:augmented."""

    recipe = replace(CYCLE, epochs=30)
    capture = False  # θ is drawn anew for every batch

    share: float = option(
        0.8, "share of the training images that are warped, different ones in every epoch", least=0, most=1
    )
    alpha: float = option(40.0, "alpha of the affine prior from which warps are drawn", above=0)

    def transform(self) -> Transform:
        how = nuisance(f"affine:alpha={self.alpha}")
        return lambda batch, keys: warped(batch, keys, self.share, how)
