"""Preconditioned Crank–Nicolson (Cotter, Roberts, Stuart & White 2013) for Gaussian priors.

θ′ = m + √(1−β²) (θ − m) + β ξ with ξ ~ N(0, C), where m and C are the prior's. The proposal leaves the prior invariant,
so only the likelihood decides, and acceptance does not fall with the dimension. In latent coordinates m = 0 and C = I,
whatever the image's prior is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.random import fold, normal
from brittle.registry import option
from brittle.samplers import register
from brittle.samplers.chain import NOISE, ChainSampler, ChainState, Kernel, StepInfo, accept, robbins_monro, unchanged
from brittle.samplers.target import Evaluation, Target


@register("crank-nicolson")
@dataclass(frozen=True)
class CrankNicolson(ChainSampler):
    """z′ = √(1−β²) z + β ξ, accepted with probability min(1, p(not ℓ | z′) / p(not ℓ | z))."""

    name: ClassVar[str] = "crank-nicolson"

    step: float = option(0.5, "initial β: 1 draws afresh from the prior", above=0, most=1)
    adapt: bool = option(True, "whether burn-in adapts β to an acceptance of 0.3")

    def check(self, target: Target) -> None:
        needs_gaussian(target, self.name)

    def kernel(self, target: Target, chains: int) -> Kernel[ChainState]:
        def init(position: Tensor, evaluation: Evaluation) -> ChainState:
            scale = torch.full_like(target.keys, self.step, dtype=torch.float64)
            return ChainState(position, torch.zeros_like(evaluation.log_likelihood), *evaluation, scale)

        def step(keys: Tensor, state: ChainState) -> tuple[ChainState, StepInfo]:
            position = crank_nicolson(state.position, state.scale[:, None, None], fold(keys, NOISE))
            proposed = ChainState(position, state.log_prior, *target.evaluate(position), state.scale)
            return accept(keys, state, proposed, proposed.log_likelihood - state.log_likelihood)

        return Kernel(init, step, robbins_monro(0.3, greatest=1.0) if self.adapt else unchanged)


def crank_nicolson(position: Tensor, beta: Tensor, keys: Tensor) -> Tensor:
    """A step that leaves N(0, I) invariant."""
    return (1 - beta**2).sqrt() * position + beta * normal(keys, position.shape[-1])


def needs_gaussian(target: Target, name: str) -> None:
    if not target.gaussian:
        raise BrittleError(
            f"{name} needs a Gaussian prior or a latent form of it, which this nuisance does not have",
            "Use the sampler auto, smc, metropolis or importance.",
        )
