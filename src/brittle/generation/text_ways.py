"""The two simpler ways of making a shift out of words (Dünkel et al. 2025, sections 3.2 and A.8), to compare with.

Two prompts: "a picture of a {class}" at scale 0, and "… in {shift}" from the same start noise at any other. A text
difference: e(c) + s · [e(c₊) − e(c)], of what the text encoder makes of the two prompts, token by token.
Neither needs training, and both are on throughout all noise steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from brittle.errors import BrittleError

TextWay = Literal["two prompts", "text difference"]
TEXT_WAYS: tuple[TextWay, ...] = ("two prompts", "text difference")


def words_at(way: TextWay, plain: Tensor, shifted: Tensor, scales: Sequence[float]) -> Tensor:
    """What a pipeline is given at each scale: (S, L, D), for what `embedded` makes of the two prompts (1, L, D)."""
    if plain.shape != shifted.shape:
        raise BrittleError(
            f"the two prompts have {plain.shape[1]} and {shifted.shape[1]} tokens", "Pad them to one length."
        )
    along = torch.tensor(list(scales), dtype=plain.dtype, device=plain.device).view(-1, 1, 1)
    if way == "two prompts":
        along = (along > 0).to(plain.dtype)
    return plain + along * (shifted - plain)
