"""Rejection sampling (von Neumann 1951): exact and independent draws, a share 1 − µ(x) of those evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch

from brittle.random import fold, uniform
from brittle.samplers import register
from brittle.samplers.importance import prior_draws, weighted
from brittle.samplers.target import Budget, PosteriorDraws, Target

KEEP = 4  # stream of an image's randomness


@register("rejection")
@dataclass(frozen=True)
class Rejection:
    """θ ~ p(θ | x), kept with probability p(not ℓ | θ)."""

    name: ClassVar[str] = "rejection"
    space: ClassVar[Literal["latent", "parameters"]] = "parameters"

    def check(self, target: Target) -> None:
        """Every prior can be drawn from."""

    def sample(self, target: Target, budget: Budget) -> PosteriorDraws:
        drawn, likelihood = prior_draws(target, budget.calls)
        numbers = torch.arange(drawn.position.shape[1], device=target.keys.device)
        coins = uniform(fold(fold(target.keys, KEEP)[:, None], numbers), 1)[..., 0]
        kept = coins.log() < drawn.evaluation.log_likelihood
        found = weighted(target, drawn, torch.where(kept, 0.0, -torch.inf).to(likelihood), likelihood, self.name)
        return found._replace(acceptance=kept.double().mean(1))
