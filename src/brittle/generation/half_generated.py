"""Fine-tuning on images half of which are generated (Dünkel et al. 2025, A.3), and what it changes on real ones.

The question is whether a classifier that has seen generated shifts does better on real shifts, and what it costs on
clean images. Fine-tuning itself changes a classifier, so it is also done for as many steps on real images alone: what
generated images do is the difference between the two.
"""

from __future__ import annotations

import copy
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from brittle.errors import BrittleError
from brittle.generation.shares import change_of_share, share_of_images
from brittle.images.arrays import from_arrays
from brittle.images.base import ImageSet
from brittle.random import shuffled
from brittle.statistics.estimate import Estimate
from brittle.training.data import TrainingImages
from brittle.training.options import Recipe
from brittle.training.trainer import train

STREAM = "half-generated"


class LabelledImages(NamedTuple):
    """Images (n, C, H, W) uint8 with labels (n,)."""

    images: Tensor
    labels: Tensor

    def drawn(self, count: int, seed: int, what: str) -> LabelledImages:
        """So many of them, drawn by the seed; each once."""
        if count > len(self.images):
            raise BrittleError(f"{count} {what} images are wanted and there are {len(self.images)}", "Ask for fewer.")
        rows = shuffled(torch.arange(len(self.images)), seed, f"{STREAM}/{what}")[:count]
        return LabelledImages(self.images[rows], self.labels[rows])


class BeforeAndAfter(NamedTuple):
    """Accuracy on one set of real images; the change is after − before, image by image."""

    before: Estimate
    after: Estimate
    change: Estimate


def half_generated(real: LabelledImages, generated: LabelledImages, count: int, seed: int = 0) -> ImageSet:
    """So many images, half of them generated and half real; real ones alone where none are generated."""
    if not len(generated.images):
        return _as_set(real.drawn(count, seed, "real"))
    parts = real.drawn(count - count // 2, seed, "real"), generated.drawn(count // 2, seed, "generated")
    return _as_set(LabelledImages(*(torch.cat(pair) for pair in zip(*parts, strict=True))))


def fine_tuned(module: nn.Module, images: ImageSet, recipe: Recipe, device: torch.device, seed: int = 0) -> nn.Module:
    """A copy of the module, trained further; the module itself stays as it is."""
    changed = copy.deepcopy(module)
    train(changed, TrainingImages(images, device), recipe, seed=seed, name="fine-tuning")
    return changed.eval()


def before_and_after(before: NDArray[np.bool_], after: NDArray[np.bool_], confidence: float = 0.95) -> BeforeAndAfter:
    """Of whether the same images (n,) were classified correctly."""
    return BeforeAndAfter(
        share_of_images(before, confidence),
        share_of_images(after, confidence),
        change_of_share(before, after, confidence),
    )


def _as_set(images: LabelledImages) -> ImageSet:
    return from_arrays(images.images.numpy(), images.labels.numpy(), name="half generated")
