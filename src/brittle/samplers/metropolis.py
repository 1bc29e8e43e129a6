"""The Metropolis algorithm with Gaussian proposals (Fawzi & Frossard 2016, algorithm 1), whose step burn-in adapts.

`algorithm=1` is what the paper prints: a chain starts at one draw from the prior, whatever the classifier says there,
keeps every state from then on, and proposes θ′ ~ N(θ, σ² I) with the same σ throughout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.random import fold, normal
from brittle.registry import option
from brittle.samplers import register
from brittle.samplers.chain import NOISE, ChainSampler, ChainState, Kernel, StepInfo, accept, robbins_monro, unchanged
from brittle.samplers.target import Budget, Evaluation, PosteriorDraws, Target

SPREAD_DRAWS = 512


@register("metropolis")
@dataclass(frozen=True)
class Metropolis(ChainSampler):
    """θ′ ~ N(θ, σ² I), accepted with probability min(1, p(not ℓ | θ′) p(θ′) / (p(not ℓ | θ) p(θ)))."""

    name: ClassVar[str] = "metropolis"
    space: ClassVar[Literal["latent", "parameters"]] = "parameters"

    step: float = option(0.5, "initial σ, in standard deviations of the prior", above=0)
    sigma: float | None = option(None, "the paper's fixed σ instead, in the units of θ (pixels for occlusion)", above=0)
    adapt: bool = option(True, "whether burn-in adapts the step to an acceptance of 0.234")
    algorithm: Literal[1] | None = option(
        None,
        "1: algorithm 1 as printed, with a fixed sigma, no burn-in, and one draw of the prior as start",
    )

    def check(self, target: Target) -> None:
        one = target.draw(fold(target.keys, 0)[:, None])
        if target.log_prior(one) is None:
            raise BrittleError(
                "metropolis needs a prior density, which this nuisance does not have",
                "Use the sampler independence, importance or rejection.",
            )
        if self.algorithm is not None and self.sigma is None:
            raise BrittleError(
                "algorithm 1 proposes θ′ ~ N(θ, σ² I), and metropolis:algorithm=1 was given no σ",
                "Give one in the units of θ: metropolis:algorithm=1,sigma=0.1.",
            )

    def sample(self, target: Target, budget: Budget) -> PosteriorDraws:
        if self.algorithm is not None:
            budget = budget._replace(burn_in=0, start="prior", tries=1)
        return super().sample(target, budget)

    def kernel(self, target: Target, chains: int) -> Kernel[ChainState]:
        widths = torch.full((), self.sigma) if self.sigma is not None else prior_spread(target)[:, None]

        def init(position: Tensor, evaluation: Evaluation) -> ChainState:
            scale = torch.full_like(target.keys, 1.0 if self.sigma is not None else self.step, dtype=torch.float64)
            return ChainState(position, density(target, position), *evaluation, scale)

        def step(keys: Tensor, state: ChainState) -> tuple[ChainState, StepInfo]:
            noise = normal(fold(keys, NOISE), target.size)
            position = state.position + state.scale[:, None, None] * widths * noise
            proposed = ChainState(position, density(target, position), *target.evaluate(position), state.scale)
            return accept(
                keys,
                state,
                proposed,
                proposed.log_likelihood + proposed.log_prior - state.log_likelihood - state.log_prior,
            )

        fixed = self.sigma is not None or not self.adapt
        return Kernel(init, step, unchanged if fixed else robbins_monro(0.234))


def density(target: Target, position: Tensor) -> Tensor:
    found = target.log_prior(position)
    assert found is not None
    return found


def prior_spread(target: Target) -> Tensor:
    """Standard deviations (B, d) of the prior, estimated from draws, without calling the classifier."""
    if target.gaussian:
        return torch.ones(len(target.keys), target.size, dtype=torch.float64, device=target.keys.device)
    numbers = torch.arange(SPREAD_DRAWS, device=target.keys.device)
    return target.draw(fold(fold(target.keys, -1)[:, None], numbers)).double().std(1).clamp(min=1e-9)
