"""Parallel tempering (Geyer 1991; Hukushima & Nemoto 1996): each chain is a ladder of chains that exchange positions.

Rung k has the density p(not ℓ | θ)^t p(θ) with its own t = t_k, from the prior at t = 0, where every step draws
afresh, to the posterior at t = 1, whose positions are the draws. Neighbours exchange positions, even and odd pairs in
turn, and burn-in spaces the rungs so that all pairs do so equally often (Syed, Bouchard-Côté, Deligiannidis &
Doucet 2022, section 5: equal steps of the cumulative rejection).

For classifiers that say only right or wrong, all powers are the same, and the Gaussian prior changes instead:
p(not ℓ | z) N(z; 0, I/t), from a t at which draws are often wrong to t = 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.random import fold, normal, uniform
from brittle.registry import option
from brittle.samplers import register
from brittle.samplers.chain import (
    GREATEST_SCALE,
    LEAST_SCALE,
    NOISE,
    ChainSampler,
    ChainState,
    Kernel,
    StepInfo,
    accept,
)
from brittle.samplers.crank_nicolson import crank_nicolson
from brittle.samplers.metropolis import prior_spread
from brittle.samplers.smc import WIDENED_DRAWS, WIDTHS, wide_enough
from brittle.samplers.target import Evaluation, Target

LEAST_POWER = 0.03  # initial power of the second rung: about 1 over the −log p(not ℓ) of a confident classifier
FIRST_SPACING = 16  # steps of burn-in before rungs are first respaced; then twice as many, and so on
EXCHANGE = 8  # stream of a step's randomness


class Ladder(NamedTuple):
    """The state of the chains of B images: K rungs each, of which the last is the posterior's."""

    rungs: ChainState  # n × K chains: position (B, n·K, d), …
    scales: Tensor  # (B, K) step sizes
    powers: Tensor  # (B, K) t, ascending
    refused: Tensor  # (B, K − 1) expected number of exchanges refused since rungs were last spaced
    moved: Tensor  # (B, K) acceptance of the last step
    step: int

    @property
    def position(self) -> Tensor:
        return self.cold(self.rungs.position)

    @property
    def log_likelihood(self) -> Tensor:
        return self.cold(self.rungs.log_likelihood)

    @property
    def outcomes(self) -> Tensor:
        return self.cold(self.rungs.outcomes)

    def cold(self, values: Tensor) -> Tensor:
        """(B, n·K, …) → (B, n, …), those of the last rung."""
        return values[:, self.powers.shape[1] - 1 :: self.powers.shape[1]]


@register("tempered")
@dataclass(frozen=True)
class ParallelTempering(ChainSampler):
    """Chains that move between separate modes by way of the prior; a step costs as many calls as there are rungs."""

    name: ClassVar[str] = "tempered"

    rungs: int = option(6, "rungs of a ladder, including the prior's and the posterior's", least=2)

    def check(self, target: Target) -> None:
        if target.gaussian:
            return
        if target.hard:
            raise BrittleError(
                "tempered works for a classifier that says only right or wrong only if the prior is Gaussian, which "
                "this nuisance's is not",
                "Use the sampler smc, rejection or independence.",
            )
        if target.log_prior(target.draw(fold(target.keys, 0)[:, None])) is None:
            raise BrittleError(
                "tempered needs a prior density, which this nuisance does not have",
                "Use the sampler smc, independence, importance or rejection.",
            )

    def kernel(self, target: Target, chains: int) -> Kernel[Ladder]:
        count, ones = self.rungs, torch.ones_like(target.keys, dtype=torch.float64)[:, None]
        numbers = torch.arange(count, device=target.keys.device)
        hottest = (torch.arange(chains * count, device=target.keys.device) % count == 0)[:, None]
        powers = ones * torch.cat((ones[0] * 0, LEAST_POWER ** torch.linspace(1, 0, count - 1).to(ones)))
        if target.hard:
            least = wide_enough(target)[:, None] ** -2
            powers = least ** torch.linspace(1, 0, count).to(ones)
        widths = None if target.gaussian else prior_spread(target)[:, None]

        def each(values: Tensor) -> Tensor:
            """(B, K) → (B, n·K)."""
            return values.repeat(1, chains)

        def log_prior(position: Tensor) -> Tensor:
            """The log-prior that the acceptance ratio needs: 0 if proposals leave the prior invariant."""
            found = None if target.gaussian else target.log_prior(position)
            return torch.zeros_like(position[..., 0]) if found is None else found

        def proposed(keys: Tensor, ladder: Ladder) -> Tensor:
            noise, here = fold(keys, NOISE), ladder.rungs.position
            scale = each(ladder.scales)[..., None]
            if target.gaussian:
                width = each(ladder.powers)[..., None] ** -0.5 if target.hard else torch.ones_like(scale)
                return width * crank_nicolson(here / width, torch.where(hottest, 1.0, scale), noise)
            assert widths is not None
            walked = here + scale * widths * normal(noise, target.size)
            return torch.where(hottest, target.draw(noise), walked)

        def init(position: Tensor, evaluation: Evaluation) -> Ladder:
            everywhere = (values.repeat_interleave(count, 1) for values in (position.double(), *evaluation))
            place, likelihood, outcomes = everywhere
            rungs = ChainState(place, log_prior(place), likelihood, outcomes, ones[:, 0])
            scales = 0.5 * ones.expand(-1, count)
            return Ladder(rungs, scales, powers, torch.zeros_like(powers[:, 1:]), torch.zeros_like(powers), 0)

        def step(keys: Tensor, ladder: Ladder) -> tuple[Ladder, StepInfo]:
            rung_keys = fold(keys[..., None], numbers).flatten(1)
            position, here = proposed(rung_keys, ladder), ladder.rungs
            there = ChainState(position, log_prior(position), *target.evaluate(position), here.scale)
            power = torch.ones_like(here.log_likelihood) if target.hard else each(ladder.powers)
            ratio = power * (there.log_likelihood - here.log_likelihood) + there.log_prior - here.log_prior
            moved, info = accept(rung_keys, here, there, torch.where(here.log_likelihood == -torch.inf, 0.0, ratio))
            slope = -0.5 * moved.position.square().sum(-1) if target.hard else moved.log_likelihood
            exchanged, refused = exchange(keys, moved, slope, ladder.powers, ladder.step % 2)
            acceptance = info.acceptance.view(-1, chains, count)
            after = ladder._replace(
                rungs=exchanged, refused=ladder.refused + refused, moved=acceptance.mean(1), step=ladder.step + 1
            )
            return after, StepInfo(acceptance[..., -1], ladder.cold(info.accepted))

        def adapt(ladder: Ladder, info: StepInfo, step: int) -> Ladder:
            grown = ladder.scales.log() + 2.0 * step**-0.6 * (ladder.moved - 0.3)
            ladder = ladder._replace(scales=grown.exp().clamp(LEAST_SCALE, 1.0 if target.gaussian else GREATEST_SCALE))
            windows, rest = divmod(step, FIRST_SPACING)
            return spaced(ladder) if rest == 0 and windows & (windows + 1) == 0 else ladder

        setup_calls = len(WIDTHS) * WIDENED_DRAWS if target.hard else 0
        return Kernel(init, step, adapt, count, setup_calls)


def exchange(keys: Tensor, rungs: ChainState, slope: Tensor, powers: Tensor, first: int) -> tuple[ChainState, Tensor]:
    """Every other pair of neighbours, from rung `first` on, exchanges positions if log u ≤ (t′ − t) (slope − slope′).

    Slopes (B, n·K) are d log density / dt. Positions of likelihood 0 always move towards the hot end. Also returns
    the expected refusals (B, K − 1) of each pair, as a mean over chains."""
    count = powers.shape[1]

    def ladders(values: Tensor) -> Tensor:
        return values.reshape(len(values), -1, count, *values.shape[2:])

    slope, likelihood = ladders(slope), ladders(rungs.log_likelihood)
    up, down = likelihood[..., :-1] == -torch.inf, likelihood[..., 1:] == -torch.inf
    log_ratio = powers.diff(dim=1)[:, None] * (slope[..., :-1] - slope[..., 1:])
    log_ratio = torch.where(down, 0.0, log_ratio).masked_fill(up, -torch.inf)
    tried = torch.arange(count - 1, device=keys.device) % 2 == first
    swaps = tried & (uniform(fold(keys, EXCHANGE), count - 1).log() <= log_ratio)
    refused = (tried * -torch.expm1(log_ratio.clamp(max=0))).mean(1)
    none = torch.zeros_like(swaps[..., :1]).long()
    places = torch.arange(count, device=keys.device) + torch.cat((swaps.long(), none), -1)
    places = places - torch.cat((none, swaps.long()), -1)

    def at(values: Tensor) -> Tensor:
        each = ladders(values)
        index = places.view(*places.shape, *(1,) * (each.ndim - 3)).expand_as(each)
        return each.gather(2, index).flatten(1, 2)

    exchanged = ChainState(
        at(rungs.position), at(rungs.log_prior), at(rungs.log_likelihood), at(rungs.outcomes), rungs.scale
    )
    return exchanged, refused


def spaced(ladder: Ladder) -> Ladder:
    """The ladder with rungs at equal steps of the cumulative refusals, from the hottest on, and step sizes to match."""
    count = ladder.powers.shape[1]
    passed = (ladder.refused + 1e-3 * ladder.refused.mean(1, keepdim=True) + 1e-9).cumsum(1)
    passed = torch.cat((torch.zeros_like(passed[:, :1]), passed), 1)
    wanted = passed[:, -1:] * torch.linspace(0, 1, count).to(passed)
    above = torch.searchsorted(passed, wanted).clamp(1, count - 1)
    low, high = passed.gather(1, above - 1), passed.gather(1, above)
    share = ((wanted - low) / (high - low)).clamp(0, 1)

    def between(values: Tensor) -> Tensor:
        return torch.lerp(values.gather(1, above - 1), values.gather(1, above), share)

    powers = between(ladder.powers)
    powers[:, -1] = 1.0
    scales = between(ladder.scales.log()).exp()
    return ladder._replace(powers=powers, scales=scales, refused=torch.zeros_like(ladder.refused))
