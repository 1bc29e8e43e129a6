"""Whether pictures made again are those that the classifiers saw: some are classified again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from brittle.images.pixels import by_shape
from brittle.types import Classifier

MOST = 400  # pictures classified again, over a whole section
AGREE = 0.01  # in probability: more than devices differ


class Confirmation(NamedTuple):
    """How many pictures were classified again, and how the answers compare with those stored."""

    pictures: int = 0
    differing: int = 0
    largest: float = 0.0

    def plus(self, other: Confirmation) -> Confirmation:
        return Confirmation(
            self.pictures + other.pictures, self.differing + other.differing, max(self.largest, other.largest)
        )


class StoredAnswer(NamedTuple):
    """A picture made again, and what was stored of it."""

    image: Tensor  # (C, H, W)
    predicted: int
    probability: float  # of the predicted class


@torch.inference_mode()
def confirm(classifier: Classifier, stored: Sequence[StoredAnswer]) -> Confirmation:
    """Classifies the pictures and compares the answers with the stored ones."""
    found = Confirmation()
    for places in by_shape(each.image.shape for each in stored).values():
        answers = classifier.log_probs(torch.stack([stored[place].image for place in places])).exp()
        for place, answer in zip(places, answers, strict=True):
            gap = abs(float(answer[stored[place].predicted]) - stored[place].probability)
            found = found.plus(Confirmation(1, int(gap > AGREE), gap))
    return found
