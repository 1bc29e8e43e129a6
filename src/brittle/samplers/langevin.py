"""Langevin proposals that follow the gradient of log p(not ℓ), for classifiers and nuisances that have one.

The semi-implicit discretisation of Cotter, Roberts, Stuart & White (2013, section 4.3), which like Crank–Nicolson
leaves the prior N(0, I) invariant where the likelihood is flat:

    z′ ~ N(m(z), s² I),  m(z) = ((2 − δ) z + 2δ g(z)) / (2 + δ),  s² = 8δ / (2 + δ)²

with g the gradient, clipped to a length that keeps the drift from overshooting. The Metropolis rule with the exact
density of the proposal corrects for both.
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
from brittle.samplers.crank_nicolson import needs_gaussian
from brittle.samplers.target import Evaluation, Target

CALLS_OF_A_GRADIENT = 3  # a forward pass, and a backward pass that costs about two of them


@register("langevin")
@dataclass(frozen=True)
class Langevin(ChainSampler):
    """Proposals that drift towards where the classifier is more certainly wrong."""

    name: ClassVar[str] = "langevin"

    step: float = option(0.5, "initial δ: 2 forgets where the chain was", above=0, most=2)
    longest: float = option(
        3.0, "length to which the gradient is clipped, in standard deviations of the prior", above=0
    )
    adapt: bool = option(True, "whether burn-in adapts δ to an acceptance of 0.574")

    def check(self, target: Target) -> None:
        needs_gaussian(target, self.name)
        if not target.differentiable or target.hard:
            raise BrittleError(
                "langevin needs a gradient of log p(not ℓ), which this classifier or nuisance does not have",
                "Use the sampler auto or crank-nicolson.",
            )

    def kernel(self, target: Target, chains: int) -> Kernel[ChainState]:
        def drift(state: ChainState) -> Tensor:
            assert state.gradient is not None
            length = state.gradient.norm(dim=-1, keepdim=True)
            delta = state.scale[:, None, None]
            gradient = state.gradient * (self.longest / length.clamp(min=self.longest))
            towards: Tensor = ((2 - delta) * state.position + 2 * delta * gradient) / (2 + delta)
            return towards

        def init(position: Tensor, _: Evaluation) -> ChainState:
            scale = torch.full_like(target.keys, self.step, dtype=torch.float64)
            evaluation, gradient = target.evaluate_with_gradient(position)
            return ChainState(position, half_square(position), *evaluation, scale, gradient)

        def step(keys: Tensor, state: ChainState) -> tuple[ChainState, StepInfo]:
            delta = state.scale[:, None, None]
            width = (8 * delta).sqrt() / (2 + delta)
            position = drift(state) + width * normal(fold(keys, NOISE), target.size)
            evaluation, gradient = target.evaluate_with_gradient(position)
            proposed = ChainState(position, half_square(position), *evaluation, state.scale, gradient)
            there = half_square((position - drift(state)) / width)
            back = half_square((state.position - drift(proposed)) / width)
            gain = proposed.log_likelihood + proposed.log_prior - state.log_likelihood - state.log_prior
            return accept(keys, state, proposed, gain + back - there)

        adapt = robbins_monro(0.574, greatest=2.0) if self.adapt else unchanged
        return Kernel(init, step, adapt, CALLS_OF_A_GRADIENT, setup_calls=CALLS_OF_A_GRADIENT * chains)


def half_square(position: Tensor) -> Tensor:
    """log N(position; 0, I) up to a constant."""
    return -0.5 * position.square().sum(-1)
