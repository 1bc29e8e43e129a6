"""What is minimised, and what is recorded beside it.

The ordinary objective mixes targets: λ·CE(y) + (1 − λ)·CE(y′) with λ ~ Beta(α, α). The reformulated one (Huszár 2017,
Harris et al. 2020) does not: CE(y) with λ ~ Beta(α + 1, α), which needs no second label, and has the same expectation
where 1 − m is as likely a mask as m.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from brittle.training.mixing.mixer import PARTNER, SHARE
from brittle.types import Batch


def mixed_cross_entropy(logits: Tensor, batch: Batch) -> Tensor:
    """λ·CE(y) + (1 − λ)·CE(y′), averaged over images (B, C, H, W)."""
    share = batch.extras[SHARE]
    first, second = (F.cross_entropy(logits, each, reduction="none") for each in (batch.labels, batch.extras[PARTNER]))
    return (share * first + (1 - share) * second).mean()


def majority_cross_entropy(logits: Tensor, batch: Batch) -> Tensor:
    """CE with the label of the image that has the larger share."""
    return F.cross_entropy(logits, torch.where(batch.extras[SHARE] >= 0.5, batch.labels, batch.extras[PARTNER]))
