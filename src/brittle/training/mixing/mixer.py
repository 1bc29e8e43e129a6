"""Mixes the images of a batch with one another, or with those of another image set."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from brittle.mixing.base import Mix
from brittle.random import fold, key_of, uniform
from brittle.training.augmentation import CropAndFlip, DrawnNumbers
from brittle.training.data import TrainingImages
from brittle.types import Batch

PARTNER, SHARE = "partner label", "share"  # extras of a mixed batch: the partner's label, and the first image's share


@dataclass(frozen=True)
class Mixer:
    """Mixes every image with its partner: the one before it in the batch, whose order is random.

    The published code permutes the batch at random, where an image may meet itself; here it never does. As there, a
    batch shares one mask, drawn from the key of its first image. With `others`, partners are drawn from that image set
    and moved like the images themselves; their labels are ignored."""

    mix: Mix
    mixed_targets: bool = True
    seed: int = 0
    others: TrainingImages | None = None
    moves: CropAndFlip | None = None

    def draw(self, keys: Tensor, shape: tuple[int, int, int]) -> DrawnNumbers:
        owners = keys if self.mix.per_image else keys[:, :1]
        flat = fold(owners.reshape(-1), key_of("mix"))
        masks = self.mix.masks(flat, *shape[1:], mixed_targets=self.mixed_targets, seed=self.seed)
        masks = masks.view(*owners.shape, *masks.shape[1:])
        drawn = {"masks": masks}
        if self.mix.pairs:
            drawn["shares"] = masks.mean((2, 3, 4), dtype=torch.float64).float()
        if self.others is not None:
            theirs = fold(keys, key_of("partner"))
            drawn["partners"] = (uniform(theirs, 1)[..., 0] * len(self.others)).long()
            if self.moves is not None:
                drawn |= self.moves.draw(theirs, shape)
        return drawn

    def apply(self, batch: Batch, drawn: DrawnNumbers) -> Batch:
        images, extras = batch.images, dict(batch.extras)
        if not self.mix.pairs:
            return batch._replace(images=images * drawn["masks"])
        extras[SHARE] = drawn["shares"].expand(len(images))
        if self.others is None:
            partners, extras[PARTNER] = images.roll(1, 0), batch.labels.roll(1)
        else:
            partners = self._partners(self.others, drawn)
        return batch._replace(images=torch.lerp(partners, images, drawn["masks"]), extras=extras)

    def _partners(self, others: TrainingImages, drawn: DrawnNumbers) -> Tensor:
        batch = others.batch(drawn["partners"])
        return (batch if self.moves is None else self.moves.apply(batch, drawn)).images
