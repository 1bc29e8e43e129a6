"""Chains: a sampler is a pair of pure functions, `init` and `step`, and this file runs them.

All chains of all images move together. Step sizes, one per image, adapt only during burn-in, so that the draws that
are kept come from a Markov chain that does not change.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor

from brittle.random import fold, uniform
from brittle.samplers.target import Budget, Evaluation, PosteriorDraws, PriorDraws, Target

MOVE, NOISE, COIN = 1, 2, 3  # streams of an image's randomness, and of a step's
KEPT_NUMBERS = 1 << 26  # most numbers of positions kept for one block of images: longer chains are thinned
LEAST_SCALE, GREATEST_SCALE = 1e-6, 1e3


class ChainState(NamedTuple):
    """The current state of the chains of B images."""

    position: Tensor  # (B, n, d)
    log_prior: Tensor  # (B, n)
    log_likelihood: Tensor  # (B, n)
    outcomes: Tensor  # (B, n, r)
    scale: Tensor  # (B,) step size
    gradient: Tensor | None = None  # (B, n, d) of the log-likelihood, for samplers that use it


class StepInfo(NamedTuple):
    """What happened in a step."""

    acceptance: Tensor  # (B, n) probability with which the proposal was accepted
    accepted: Tensor  # (B, n)


class KernelState(Protocol):
    """The parts of a state that are kept. Kernels may define states of their own."""

    @property
    def position(self) -> Tensor: ...
    @property
    def log_likelihood(self) -> Tensor: ...
    @property
    def outcomes(self) -> Tensor: ...


S = TypeVar("S", bound=KernelState)


class Kernel(NamedTuple, Generic[S]):
    """A sampler for one target."""

    init: Callable[[Tensor, Evaluation], S]  # positions (B, n, d), and their evaluation
    step: Callable[[Tensor, S], tuple[S, StepInfo]]  # keys (B, n)
    adapt: Callable[[S, StepInfo, int], S]  # after each step of burn-in, counted from 1
    calls_per_step: int = 1  # classifier calls of one chain
    setup_calls: int = 0  # classifier calls per image before the first step


class ChainSampler(ABC):
    """A sampler that moves by a Markov kernel."""

    space: ClassVar[Literal["latent", "parameters"]] = "latent"
    name: ClassVar[str]

    def check(self, target: Target) -> None:  # noqa: B027
        """Accepts every target, unless a subclass says otherwise."""

    @abstractmethod
    def kernel(self, target: Target, chains: int) -> Kernel[Any]: ...

    def sample(self, target: Target, budget: Budget) -> PosteriorDraws:
        self.check(target)
        return run(self.kernel(target, budget.chains), target, budget, self.name)


def accept(keys: Tensor, state: ChainState, proposed: ChainState, log_ratio: Tensor) -> tuple[ChainState, StepInfo]:
    """The Metropolis rule: moves where log u ≤ log ratio (B, n). −∞ against −∞ gives NaN, which rejects."""
    log_ratio = torch.where(proposed.log_likelihood == -torch.inf, -torch.inf, log_ratio)
    moves = uniform(fold(keys, COIN), 1)[..., 0].log() <= log_ratio
    gradient = None
    if proposed.gradient is not None and state.gradient is not None:
        gradient = torch.where(moves[..., None], proposed.gradient, state.gradient)
    state = ChainState(
        torch.where(moves[..., None], proposed.position, state.position),
        torch.where(moves, proposed.log_prior, state.log_prior),
        torch.where(moves, proposed.log_likelihood, state.log_likelihood),
        torch.where(moves[..., None], proposed.outcomes, state.outcomes),
        state.scale,
        gradient,
    )
    return state, StepInfo(log_ratio.nan_to_num(nan=-torch.inf, posinf=torch.inf).clamp(max=0).exp(), moves)


def robbins_monro(
    target_rate: float, greatest: float = GREATEST_SCALE
) -> Callable[[ChainState, StepInfo, int], ChainState]:
    """Adapts each image's step size towards the wanted acceptance rate (Andrieu & Thoms 2008)."""

    def adapt(state: ChainState, info: StepInfo, step: int) -> ChainState:
        gain = 2.0 * step**-0.6
        moved = state.scale.log() + gain * (info.acceptance.mean(1) - target_rate)
        return state._replace(scale=moved.exp().clamp(LEAST_SCALE, greatest))

    return adapt


def unchanged(state: ChainState, info: StepInfo, step: int) -> ChainState:
    """For fixed step sizes."""
    return state


def begin(target: Target, budget: Budget) -> PriorDraws:
    """Starting points (B, n, d): of some prior draws, the first with a finite density, or the one most certainly wrong.

    If there is none, the likelihood stays −∞."""
    images, chains, tries = len(target.keys), budget.chains, budget.tries
    first = target.prior(chains * tries)
    likelihood = first.evaluation.log_likelihood.view(images, chains, tries)
    best = (likelihood.isfinite().double() if budget.start == "prior" else likelihood).argmax(-1)

    def at(values: Tensor) -> Tensor:
        each = values.reshape(images, chains, tries, -1)
        return each.gather(2, best[..., None, None].expand(-1, -1, 1, each.shape[-1]))[:, :, 0]

    evaluation = Evaluation(at(first.evaluation.log_likelihood)[..., 0], at(first.evaluation.outcomes))
    return PriorDraws(at(first.position), evaluation, first.calls)


def run(kernel: Kernel[S], target: Target, budget: Budget, name: str) -> PosteriorDraws:
    """Burn-in, then the steps that are kept; chains without a valid start give no draws."""
    images, device = len(target.keys), target.keys.device
    keys = fold(fold(target.keys, MOVE)[:, None], torch.arange(budget.chains, device=device))
    start = begin(target, budget)
    state = kernel.init(start.position, start.evaluation)
    for step in range(1, budget.burn_in + 1):
        state, info = kernel.step(fold(keys, step), state)
        state = kernel.adapt(state, info, step)
    thin = max(1, -(-images * budget.chains * budget.steps * target.size // KEPT_NUMBERS))
    kept = budget.steps // thin
    positions = torch.empty(images, budget.chains, kept, target.size, dtype=torch.float32, device=device)
    likelihoods = torch.empty(images, budget.chains, kept, dtype=torch.float64, device=device)
    outcomes = torch.empty(images, budget.chains, kept, start.evaluation.outcomes.shape[-1], device=device)
    accepted = torch.zeros(images, dtype=torch.float64, device=device)
    for step in range(1, kept * thin + 1):
        state, info = kernel.step(fold(keys, budget.burn_in + step), state)
        accepted += info.accepted.double().mean(1)
        if step % thin == 0:
            at = step // thin - 1
            positions[:, :, at], likelihoods[:, :, at], outcomes[:, :, at] = (
                state.position,
                state.log_likelihood,
                state.outcomes,
            )
    calls = start.calls + kernel.setup_calls + budget.chains * kernel.calls_per_step * (budget.burn_in + kept * thin)
    return PosteriorDraws(
        positions,
        torch.where(likelihoods > -torch.inf, 0.0, -torch.inf).to(likelihoods),
        likelihoods,
        outcomes,
        torch.full((images,), calls, device=device),
        accepted / max(1, kept * thin),
        (name,) * images,
        from_prior=torch.full((images,), budget.chains * budget.tries, device=device),
    )
