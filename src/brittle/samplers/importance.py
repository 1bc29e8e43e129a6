"""Importance sampling (Kahn & Harris 1951) with the prior as proposal: each draw is weighted by p(not ℓ) there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from brittle.samplers import register
from brittle.samplers.chain import KEPT_NUMBERS
from brittle.samplers.target import Budget, Evaluation, PosteriorDraws, PriorDraws, Target


@register("importance")
@dataclass(frozen=True)
class Importance:
    """θ ~ p(θ | x) with the weight p(not ℓ | θ). Reuses the draws of a robustness measurement, at no further calls."""

    name: ClassVar[str] = "importance"
    space: ClassVar[Literal["latent", "parameters"]] = "parameters"

    def check(self, target: Target) -> None:
        """Every prior can be drawn from."""

    def sample(self, target: Target, budget: Budget) -> PosteriorDraws:
        return self.weigh(target, target.measured or budget.calls)

    def weigh(self, target: Target, count: int) -> PosteriorDraws:
        """The prior's first `count` draws, weighted."""
        drawn, likelihood = prior_draws(target, count)
        return weighted(target, drawn, drawn.evaluation.log_likelihood, likelihood, self.name)


def prior_draws(target: Target, count: int) -> tuple[PriorDraws, Tensor]:
    """The draws of the prior that are kept, and the log-likelihoods (B, count) of all of them.

    A few images at a time, so that float64 positions fit into memory; if even the float32 positions of the whole block
    would not, they are thinned, as in chains."""
    images, most = len(target.keys), max(1, KEPT_NUMBERS // max(1, count * target.size))
    thin = max(1, -(-images // most))
    positions, evaluations, likelihoods, calls = [], [], [], 0
    for rows in torch.split(torch.arange(images, device=target.keys.device), most):
        part = target.prior(count) if most >= images else target.take(rows).prior(count)
        positions.append(part.position[:, ::thin].float())
        evaluations.append(Evaluation(*(each[:, ::thin] for each in part.evaluation)))
        likelihoods.append(part.evaluation.log_likelihood)
        calls = max(calls, part.calls)
    evaluation = Evaluation(*map(torch.cat, zip(*evaluations, strict=True)))
    return PriorDraws(torch.cat(positions), evaluation, calls), torch.cat(likelihoods)


def weighted(target: Target, drawn: PriorDraws, log_weight: Tensor, likelihood: Tensor, name: str) -> PosteriorDraws:
    """A population of draws from the prior. Their mean likelihood is an unbiased estimate of 1 − µ(x)."""
    images, device = len(target.keys), target.keys.device
    return PosteriorDraws(
        drawn.position[:, None],
        log_weight[:, None],
        drawn.evaluation.log_likelihood[:, None],
        drawn.evaluation.outcomes[:, None],
        torch.full((images,), drawn.calls, device=device),
        torch.full((images,), torch.nan, dtype=torch.float64, device=device),
        (name,) * images,
        chains=False,
        evidence=likelihood.logsumexp(1) - math.log(likelihood.shape[1]),
        from_prior=torch.full((images,), likelihood.shape[1], device=device),
        bounded=torch.ones(images, dtype=torch.bool, device=device),
    )
