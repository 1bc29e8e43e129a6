"""By how much an image belongs to a class: the log-odds whose levels a path follows, and the margin that is checked.

m(x) = z_c − log Σ_{k≠c} exp z_k is smooth wherever the logits are. The margin z_c − max_{k≠c} z_k is at least as large
and is positive exactly where the classifier gives the class, so it alone decides whether a path stays inside.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from brittle.types import Differentiable


def log_odds(logits: Tensor, labels: Tensor) -> Tensor:
    """z (B, K), c (B,) → log p(c | x) − log p(not c | x) (B,)"""
    column = labels[:, None]
    return logits.gather(1, column)[:, 0] - logits.scatter(1, column, -torch.inf).logsumexp(1)


def margin(logits: Tensor, labels: Tensor) -> Tensor:
    """z (B, K), c (B,) → z_c − max_{k≠c} z_k (B,); NaN becomes −∞, outside of every class."""
    column = labels[:, None]
    found = logits.gather(1, column)[:, 0] - logits.scatter(1, column, -torch.inf).amax(1)
    return found.nan_to_num(nan=-torch.inf)


class LogOddsGradient(NamedTuple):
    """The log-odds of some images (B, C, H, W) and how they change."""

    m: Tensor  # (B,)
    g: Tensor  # (B, C, H, W) ∇m


def level(classifier: Differentiable, images: Tensor, labels: Tensor) -> LogOddsGradient:
    """m and ∇m at images (B, C, H, W) of the classes (B,)."""
    with torch.enable_grad():
        leaves = images.detach().clone().requires_grad_(True)
        m = log_odds(classifier.logits(leaves), labels)
        (g,) = torch.autograd.grad(m.sum(), leaves)
    return LogOddsGradient(m.detach(), g)
