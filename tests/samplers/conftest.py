"""Toy targets: a prior N(0, I) and any log p(not ℓ | z), without images, whose posteriors are known by other means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from brittle.random import fold, normal, stream_root
from brittle.samplers.target import Looked, Prior


@dataclass(frozen=True)
class Toy:
    """B images whose weak points are given by a formula. What is remembered of a position is its first number."""

    keys: Tensor  # (B,)
    prior_keys: Tensor  # (B,)
    size: int
    log_p: Callable[[Tensor, Tensor], Tensor]  # positions (B, n, d), facts (B, 1, f) → log p(not ℓ) (B, n)
    facts: Tensor  # (B, f) what sets one image apart from another
    gaussian: bool = True  # if not, the prior is the same but samplers aren't told
    density: bool = True
    hard: bool = False
    differentiable: bool = True

    def draw(self, keys: Tensor) -> Tensor:
        return normal(keys, self.size)

    def prior(self, count: int) -> Prior:
        position = self.draw(fold(self.prior_keys[:, None], torch.arange(count)))
        return Prior(position, self.look(position), count)

    def log_prior(self, position: Tensor) -> Tensor | None:
        return -0.5 * position.square().sum(-1) if self.density else None

    def look(self, position: Tensor) -> Looked:
        return Looked(self.log_p(position, self.facts[:, None]).double(), position[..., :1].float())

    def slope(self, position: Tensor) -> tuple[Looked, Tensor]:
        moving = position.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(self.log_p(moving, self.facts[:, None]).sum(), moving)
        return self.look(position), gradient.nan_to_num()

    def take(self, images: Tensor) -> Toy:
        return replace(
            self, keys=self.keys[images], prior_keys=self.prior_keys[images], facts=self.facts[images]
        )


def toy(log_p: Callable[[Tensor, Tensor], Tensor], size: int, images: int = 1, seed: int = 0, **more: object) -> Toy:
    facts = more.pop("facts", torch.zeros(images, 1, dtype=torch.float64))
    ids = torch.arange(images)
    return Toy(
        fold(stream_root(seed, "sampler"), ids), fold(stream_root(seed, "prior"), ids), size, log_p, facts, **more
    )
