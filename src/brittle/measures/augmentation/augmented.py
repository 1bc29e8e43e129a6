"""Augmented images: an image under a nuisance, or mixed with another one of which it shows the larger share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.measures.answers import At, Change, Notes
from brittle.measures.base import refuse_unknown
from brittle.measures.changes import DrawnTheta
from brittle.mixing import mixes
from brittle.mixing.base import Mix
from brittle.nuisances import nuisance as open_nuisance
from brittle.nuisances import nuisances
from brittle.random import fold, stream_root
from brittle.registry import options_of, parse_spec
from brittle.types import Batch, Nuisance, in_numbers

HALF = 0.5
SHARE = "share"


def opened(spec: str) -> Mix | Nuisance:
    """What a spec names: a mix, or a nuisance that needs nothing but the image."""
    kind = parse_spec(spec).kind.split("+")[0]
    if kind in mixes.names():
        return mixes.build(spec)
    refuse_unknown(kind, [*mixes.names(), *nuisances.names()], "there is no augmentation {!r}")
    space = open_nuisance(spec)
    reads = [key for key, field in options_of(type(space)).items() if field.metadata.get("image_set")]
    if space.needs or any(isinstance(getattr(space, key.replace("-", "_")), str) for key in reads):
        raise BrittleError(
            f"the augmentation {spec!r} needs more than the image itself", "Use a mix, or another nuisance."
        )
    return space


def in_pairs(what: Mix | Nuisance) -> bool:
    return isinstance(what, Mix) and what.pairs


def augmented(what: Mix | Nuisance, images: Tensor, seed: int) -> Change:
    """The augmentation of images (B, C, H, W), those that others are mixed with."""
    if isinstance(what, Mix):
        return MixedWithPartner(what, images, stream_root(seed, f"mix {mixes.name_of(what)}", images.device), seed)
    return Alone(what, stream_root(seed, nuisances.name_of(what), images.device))


@dataclass(frozen=True)
class Alone(DrawnTheta):
    """A draw of a nuisance: all of an image is its own."""

    def make(self, batch: Batch, at: At) -> tuple[Tensor, Notes]:
        made, _ = super().make(batch, at)
        return made, {SHARE: made.new_ones(len(made))}


@dataclass(frozen=True)
class MixedWithPartner:
    """A `draw` of a mix of each image with its `partner`; notes the `share` of each that is its own."""

    mix: Mix
    images: Tensor  # (B, C, H, W) of the task
    root: Tensor
    seed: int
    traceable: ClassVar[bool] = False

    def make(self, batch: Batch, at: At) -> tuple[Tensor, Notes]:
        keys = fold(fold(self.root, batch.ids), at["draw"])
        masks = self.mix.masks(keys, *batch.images.shape[-2:], mixed_targets=False, seed=self.seed)
        share = masks.mean((1, 2, 3))
        if not self.mix.pairs:
            return batch.images * masks, {SHARE: share}
        # The majority's label counts. Both images of a pair are looked at, so that it may as well always be the first.
        masks = torch.where((share < HALF)[:, None, None, None], 1 - masks, masks)
        mixed = torch.lerp(in_numbers(self.images[at["partner"]]), batch.images, masks)
        return mixed, {SHARE: torch.maximum(share, 1 - share)}
