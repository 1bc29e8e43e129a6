"""The one place that draws θ: a function of seed, nuisance, image and draw number, and of nothing else."""

from __future__ import annotations

from torch import Tensor

from brittle.random import fold
from brittle.types import Batch, Nuisance


def draw_theta(nuisance: Nuisance, batch: Batch, draws: Tensor, root: Tensor, within: Tensor | None = None) -> Tensor:
    """θ (B, d) for one draw number per image; `root` is the key of (seed, nuisance). `within` numbers further θ of one
    draw, such as those of every severity."""
    keys = fold(fold(root, batch.ids), draws)
    if within is not None:
        keys = fold(keys, within)
    return nuisance.sample(batch, keys[:, None])[:, 0]
