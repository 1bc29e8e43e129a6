"""Augmentation: what happens to a batch before it is trained on.

Numbers for many batches are drawn at once, so that a step has only to apply them. Drawn in every step, they would be a
hundred GPU kernels on a handful of numbers each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from brittle.random import fold, key_of, uniform
from brittle.types import Batch

Transform = Callable[[Batch, Tensor], Batch]  # a batch and keys (B,), one per image and epoch → the batch to train on
DrawnNumbers = Mapping[str, Tensor]


class BatchAugmentation(Protocol):
    def draw(self, keys: Tensor, shape: tuple[int, int, int]) -> DrawnNumbers:
        """keys (T, B), one per image and epoch, for T batches of images (C, H, W) → what is drawn, each (T, …)."""
        ...

    def apply(self, batch: Batch, drawn: DrawnNumbers) -> Batch:
        """The batch to train on; `drawn` is one batch's share of what was drawn."""
        ...


@dataclass(frozen=True)
class KeyedTransform:
    """A transform that draws its numbers itself, from keys."""

    transform: Transform

    def draw(self, keys: Tensor, shape: tuple[int, int, int]) -> DrawnNumbers:
        return {"keys": keys}

    def apply(self, batch: Batch, drawn: DrawnNumbers) -> Batch:
        return self.transform(batch, drawn["keys"])


@dataclass(frozen=True)
class CropAndFlip:
    """A random crop of the image padded with black, and a random horizontal flip.

    `crop` is the padding in pixels on each side, so an image moves by as much each way; half of the images are
    flipped if `flip` is set. `name` tells these draws from others."""

    crop: int = 0
    flip: bool = False
    name: str = "moves"

    def draw(self, keys: Tensor, shape: tuple[int, int, int]) -> DrawnNumbers:
        """The rows (T, B, H) and columns (T, B, W) of the padded image that are kept."""
        _, height, width = shape
        draws = uniform(fold(keys, key_of(self.name)), 3)[..., None]
        corner = (draws * (2 * self.crop + 1)).long()
        down, across = (torch.arange(side, device=keys.device) for side in (height, width))
        flipped = (draws[..., 2, :] < 0.5) & self.flip
        columns = corner[..., 1, :] + torch.where(flipped, across.flip(0), across)
        return {f"{self.name}: rows": corner[..., 0, :] + down, f"{self.name}: columns": columns}

    def apply(self, batch: Batch, drawn: DrawnNumbers) -> Batch:
        rows, columns = drawn[f"{self.name}: rows"], drawn[f"{self.name}: columns"]
        image = torch.arange(len(rows), device=rows.device)[:, None, None]
        padded = F.pad(batch.images, (self.crop,) * 4)
        moved = padded[image, :, rows[:, :, None], columns[:, None]]  # (B, H, W, C)
        return batch._replace(images=moved.permute(0, 3, 1, 2))


@dataclass(frozen=True)
class AugmentationChain:
    """One augmentation after another."""

    parts: Sequence[BatchAugmentation]

    def draw(self, keys: Tensor, shape: tuple[int, int, int]) -> DrawnNumbers:
        return {name: values for part in self.parts for name, values in part.draw(keys, shape).items()}

    def apply(self, batch: Batch, drawn: DrawnNumbers) -> Batch:
        for part in self.parts:
            batch = part.apply(batch, drawn)
        return batch
