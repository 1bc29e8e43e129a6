"""Which shift a real image is in, by words alone (Dünkel et al. 2025, A.12): a softmax over shift words.

Real sets such as OOD-CV say "weather" where snow, fog or rain is meant. A CLIP-like encoder compares an image with "a
picture of a {class} in {shift}" for every shift, and with "a picture of a {class}"; what is not clear enough stays
unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from brittle.diffusion.prompts import CLASS_PROMPT, SHIFT_PROMPT, prompt
from brittle.generation.encoders import Encoder

NONE, UNKNOWN = "none", "unknown"


class AnnotatedShifts(NamedTuple):
    """Of n images."""

    words: tuple[str, ...]  # "none", then the shifts
    shares: Tensor  # (n, 1 + shifts), of the softmax

    def names(self, least: float = 0.0) -> list[str]:
        """The word with the largest share, "unknown" where that is below `least`."""
        top = self.shares.max(1)
        pairs = zip(top.values.tolist(), top.indices.tolist(), strict=True)
        return [self.words[place] if share >= least else UNKNOWN for share, place in pairs]


def annotate_shifts(
    encoder: Encoder,
    images: Tensor,
    labels: Sequence[int],
    classes: Sequence[str],
    shifts: Sequence[str],
    *,
    temperature: float = 0.01,
    plain: bool = True,
) -> AnnotatedShifts:
    """Images (n, C, H, W) with labels (n,) among the classes. CLIP's temperature is 0.01; without `plain`, every image
    is taken to be in some shift."""
    asked = [""] * plain + list(shifts)
    texts = encoder.texts(
        [prompt(SHIFT_PROMPT if shift else CLASS_PROMPT, name.lower(), shift) for name in classes for shift in asked]
    ).view(len(classes), len(asked), -1)
    features = encoder.images(images)
    cosines = torch.einsum("nd,nkd->nk", features, texts[torch.tensor(list(labels))])
    return AnnotatedShifts(tuple(each or NONE for each in asked), (cosines / temperature).softmax(1))
