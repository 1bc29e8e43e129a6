"""The one place that draws θ: a function of seed, nuisance, image and draw number, and of nothing else.

And what is asked of a nuisance before work begins, on a made-up image."""

from __future__ import annotations

import torch
from torch import Tensor

from brittle.measures.base import About
from brittle.random import fold
from brittle.types import Batch, InScales, Nuisance


def draw_theta(nuisance: Nuisance, batch: Batch, draws: Tensor, root: Tensor, within: Tensor | None = None) -> Tensor:
    """θ (B, d) for one draw number per image; `root` is the key of (seed, nuisance). `within` numbers further θ of one
    draw, such as those of every severity."""
    keys = fold(fold(root, batch.ids), draws)
    if within is not None:
        keys = fold(keys, within)
    return nuisance.sample(batch, keys[:, None])[:, 0]


def made_up(about: About) -> Batch:
    """One image of the size of the largest that a cell is about, which no image set holds."""
    assert about.subject is not None
    zero = torch.zeros(1, dtype=torch.int64)
    return Batch(torch.linspace(0, 1, about.numbers).view(1, *about.subject.shape), zero, zero)


def check_path(about: About) -> None:
    """Raises where the nuisance has no severity between 0 and 1 that a path could pass through."""
    if about.nuisance is not None and about.subject is not None and not isinstance(about.nuisance, InScales):
        one = made_up(about)
        about.nuisance.at(about.nuisance.identity(one), 0.5, one)
