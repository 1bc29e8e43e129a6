"""The Metropolis rule with proposals drawn from the prior, whatever the state: needs no density, only draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from brittle.random import fold
from brittle.samplers import register
from brittle.samplers.chain import NOISE, ChainSampler, ChainState, Kernel, StepInfo, accept, unchanged
from brittle.samplers.target import Evaluation, Target


@register("independence")
@dataclass(frozen=True)
class Independence(ChainSampler):
    """θ′ ~ p(θ | x), accepted with probability min(1, p(not ℓ | θ′) / p(not ℓ | θ))."""

    name: ClassVar[str] = "independence"

    def kernel(self, target: Target, chains: int) -> Kernel[ChainState]:
        def init(position: Tensor, evaluation: Evaluation) -> ChainState:
            scale = torch.ones_like(target.keys, dtype=torch.float64)
            return ChainState(position, torch.zeros_like(evaluation.log_likelihood), *evaluation, scale)

        def step(keys: Tensor, state: ChainState) -> tuple[ChainState, StepInfo]:
            position = target.draw(fold(keys, NOISE))
            proposed = ChainState(position, state.log_prior, *target.evaluate(position), state.scale)
            return accept(keys, state, proposed, proposed.log_likelihood - state.log_likelihood)

        return Kernel(init, step, unchanged)
