"""Sequential Monte Carlo (Del Moral, Doucet & Jasra 2006) from the prior to the posterior.

Between the two lie the densities p(not ℓ | θ)^t p(θ), with t from 0 to 1. Each round weights the particles of each
image for its next t, resamples some of them by these weights, and moves those. As in waste-free SMC (Dau & Chopin
2022), every position that a mover visits becomes a particle, and once t = 1 these are the draws.

Moves are Crank–Nicolson steps about a Gaussian fitted to the particles, if there are enough to fit one. A mover uses
the fit of the half of the particles that it does not come from: fitted to themselves, small populations contract.

For classifiers whose p(not ℓ) is always 0 or 1, its powers are all the same. There the Gaussian prior changes instead:
p(not ℓ | z) N(z; 0, I/t), from a t at which some draws are wrong to t = 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import torch
from torch import Tensor

from brittle.random import fold, normal, uniform
from brittle.registry import option
from brittle.samplers import register
from brittle.samplers.chain import KEPT_NUMBERS, LEAST_SCALE, MOVE, NOISE, ChainState, accept
from brittle.samplers.crank_nicolson import crank_nicolson
from brittle.samplers.diagnostics import kish
from brittle.samplers.metropolis import prior_spread
from brittle.samplers.target import Budget, PosteriorDraws, Target

PARTICLES, PICK, WIDEN = 5, 6, 7  # streams of an image's randomness
FEWEST_PARTICLES = 32
PARTICLES_PER_DIMENSION = 10  # needed for a fit
WIDTHS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)  # of the prior, in its own standard deviations
WIDENED_DRAWS = 64  # evaluated for each width
WRONG_ENOUGH = 0.1  # share of draws that must be wrong
HALVINGS = 50


class Particles(NamedTuple):
    """The particles of B images, and how far along each image is."""

    position: Tensor  # (B, n, d)
    log_likelihood: Tensor  # (B, n)
    outcomes: Tensor  # (B, n, r)
    families: Tensor  # (B, n) first ancestors
    log_weight: Tensor  # (B, n)
    power: Tensor  # (B,) t
    widened: Tensor  # (B,) whether the prior is what changes with t
    scale: Tensor  # (B,) step size
    evidence: Tensor  # (B,) log of the normalising constant

    def take(self, images: Tensor) -> Particles:
        return Particles(*(each[images] for each in self))

    def at(self, places: Tensor) -> Particles:
        """The particles at places (B, n), all with equal weight."""

        def of(values: Tensor) -> Tensor:
            index = places.view(*places.shape, *(1,) * (values.ndim - 2))
            return values.gather(1, index.expand(*places.shape, *values.shape[2:]))

        return self._replace(
            position=of(self.position),
            log_likelihood=of(self.log_likelihood),
            outcomes=of(self.outcomes),
            families=of(self.families),
            log_weight=torch.zeros_like(places, dtype=torch.float64),
        )

    def put(self, images: Tensor, other: Particles) -> None:
        for mine, theirs in zip(self, other, strict=True):
            mine[images] = theirs


@register("smc")
@dataclass(frozen=True)
class SequentialMonteCarlo:
    """A population moved from the prior to the posterior; finds rare failures and separate modes."""

    name: ClassVar[str] = "smc"
    space: ClassVar[Literal["latent", "parameters"]] = "latent"

    particles: int | None = option(None, "how many; by default an eighth of the calls", least=2)
    moves: int = option(2, "moves per round, each made by one in this many of the particles", least=1)
    fall: float = option(0.7, "share to which the effective size may fall from one t to the next", above=0, below=1)

    def check(self, target: Target) -> None:
        """Accepts every target: any prior can be drawn from, and its draws moved in one way or another."""

    def sample(self, target: Target, budget: Budget) -> PosteriorDraws:
        movers = max(1, (self.particles or max(FEWEST_PARTICLES, budget.calls // 8)) // self.moves)
        count = movers * self.moves
        particles, calls = begin(target, count)
        rounds = max(1, (budget.calls - int(calls.min())) // count)
        kept = KeptDraws(particles, rounds)
        # An image that has not reached t = 1 when the budget is spent may use as much again.
        for turn in range(2 * rounds):
            alive = (particles.log_weight > -torch.inf).any(1)
            active = (alive & ((particles.power < 1) | (turn < rounds))).nonzero()[:, 0]
            if not len(active):
                break
            here, keys = target.take(active), fold(fold(target.keys[active], PARTICLES), turn)
            some = weighed(particles.take(active), self.fall if turn < 2 * rounds - 1 else 0.0)
            chosen = picked(some.log_weight, movers, fold(keys, PICK))
            proposal = proposal_for(here, some, (chosen < count // 2).long())
            some, accepted = moved(here, some.at(chosen), self.moves, proposal, fold(keys, MOVE))
            # Step sizes are fixed once draws are kept.
            some = some._replace(scale=torch.where(kept.rounds[active] == 0, adapted(some.scale, accepted), some.scale))
            particles.put(active, some)
            calls[active] += count
            kept.add(active[some.power == 1], accepted[some.power == 1], particles)
        return kept.draws(particles, calls, self.name)


class KeptDraws:
    """The draws: every position visited at t = 1, thinned if there are too many to hold in memory."""

    def __init__(self, particles: Particles, rounds: int) -> None:
        images, count, size = particles.position.shape
        self.thin = min(count, max(1, -(-images * rounds * count * size // KEPT_NUMBERS)))
        slots = (images, rounds, -(-count // self.thin))
        self.position = particles.position.new_zeros(*slots, size, dtype=torch.float32)
        self.outcomes = particles.outcomes.new_zeros(*slots, particles.outcomes.shape[-1])
        self.log_likelihood = particles.log_likelihood.new_full(slots, -torch.inf)
        self.log_weight = torch.full_like(self.log_likelihood, -torch.inf)
        self.families = particles.families.new_zeros(slots)
        self.rounds = torch.zeros_like(particles.families[:, 0])
        self.accepted = torch.zeros_like(particles.power)

    def add(self, images: Tensor, accepted: Tensor, particles: Particles) -> None:
        place, chosen = (images, self.rounds[images]), particles.take(images)
        self.position[place] = chosen.position[:, :: self.thin].float()
        self.outcomes[place] = chosen.outcomes[:, :: self.thin]
        self.log_likelihood[place] = chosen.log_likelihood[:, :: self.thin]
        self.log_weight[place] = chosen.log_weight[:, :: self.thin]
        self.families[place] = chosen.families[:, :: self.thin]
        self.rounds[images] += 1
        self.accepted[images] += accepted

    def draws(self, particles: Particles, calls: Tensor, name: str) -> PosteriorDraws:
        used = max(1, int(self.rounds.max()))

        def flat(values: Tensor) -> Tensor:
            return values[:, :used].flatten(1, 2)[:, None]

        dead = (particles.log_weight == -torch.inf).all(1)
        return PosteriorDraws(
            flat(self.position),
            flat(self.log_weight),
            flat(self.log_likelihood),
            flat(self.outcomes),
            calls,
            self.accepted / self.rounds,
            (name,) * len(calls),
            chains=False,
            families=flat(self.families),
            evidence=particles.evidence.masked_fill(dead, -torch.inf).clamp(max=0),
            from_prior=torch.full_like(calls, particles.position.shape[1]),
        )


def begin(target: Target, count: int) -> tuple[Particles, Tensor]:
    """Particles from the prior, or from a wider one where the prior is what changes; and the calls (B,) this took."""
    first = target.prior(count)
    likelihood = first.evaluation.log_likelihood
    nothing_between = ((likelihood == 0) | (likelihood == -torch.inf)).all(1) | target.hard
    widened = nothing_between & target.gaussian
    possible = torch.where(likelihood > -torch.inf, 0.0, -torch.inf).to(likelihood)
    particles = Particles(
        first.position.double(),
        likelihood.clone(),
        first.evaluation.outcomes.clone(),
        torch.arange(count, device=likelihood.device).repeat(len(likelihood), 1),
        torch.where(widened[:, None], likelihood, possible),
        widened.to(likelihood),
        widened,
        torch.full_like(likelihood[:, 0], 1.0),
        torch.zeros_like(likelihood[:, 0]),
    )
    calls = torch.full_like(target.keys, first.calls)
    rare = (widened & (likelihood.exp().mean(1) < WRONG_ENOUGH)).nonzero()[:, 0]
    if len(rare):
        here = target.take(rare)
        width = wide_enough(here)
        position = width[:, None, None] * particles.position[rare]
        evaluation = here.evaluate(position)
        particles.put(
            rare,
            particles.take(rare)._replace(
                position=position,
                log_likelihood=evaluation.log_likelihood,
                outcomes=evaluation.outcomes,
                log_weight=evaluation.log_likelihood,
                power=width**-2,
            ),
        )
        calls[rare] += count + len(WIDTHS) * WIDENED_DRAWS
    return particles, calls


def wide_enough(target: Target) -> Tensor:
    """(B,) the smallest of WIDTHS at which enough draws of N(0, width² I) are wrong, or else the one with the most."""
    numbers = torch.arange(len(WIDTHS) * WIDENED_DRAWS, device=target.keys.device)
    widths = torch.tensor(WIDTHS, dtype=torch.float64, device=target.keys.device)
    draws = normal(fold(fold(target.keys, WIDEN)[:, None], numbers), target.size)
    evaluation = target.evaluate(widths.repeat_interleave(WIDENED_DRAWS)[:, None] * draws)
    wrong = evaluation.log_likelihood.exp().view(-1, len(WIDTHS), WIDENED_DRAWS).mean(2)
    return widths[wrong.clamp(max=WRONG_ENOUGH).argmax(1)]


def weighed(particles: Particles, fall: float) -> Particles:
    """The particles, weighted for the next t: the largest at which the effective size falls no lower than `fall`.

    d log density / dt is log p(not ℓ), or −|z|²/2 + (d/2)/t where the prior changes."""
    size = particles.position.shape[-1]
    slope = torch.where(
        particles.widened[:, None], -0.5 * particles.position.square().sum(-1), particles.log_likelihood
    )
    slope = torch.where(particles.log_weight > -torch.inf, slope, 0.0)
    floor, left = fall * kish(particles.log_weight), 1 - particles.power
    at_once = kish(particles.log_weight + left[:, None] * slope) >= floor
    near, far = torch.zeros_like(left), left
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        enough = kish(particles.log_weight + middle[:, None] * slope) >= floor
        near, far = torch.where(enough, middle, near), torch.where(enough, far, middle)
    step = torch.where(at_once, left, far)
    power = torch.where(at_once, 1.0, particles.power + step)
    log_weight = particles.log_weight + step[:, None] * slope
    volume = torch.where(particles.widened, 0.5 * size * (power / particles.power).log(), 0.0)
    gained = log_weight.logsumexp(1) - math.log(log_weight.shape[1]) + volume
    return particles._replace(power=power, log_weight=log_weight, evidence=particles.evidence + gained)


def picked(log_weight: Tensor, count: int, keys: Tensor) -> Tensor:
    """Places (B, count) of particles, ascending, by systematic resampling: one u per image.

    If all weights are equal, they are evenly spaced: for particles that have moved, the last position of each mover."""
    cumulative = log_weight.softmax(1).cumsum(1)
    points = (torch.arange(count, device=keys.device) + uniform(keys, 1)) / count
    chosen = torch.searchsorted(cumulative / cumulative[:, -1:], points, right=True)
    moves = log_weight.shape[1] // count
    last = torch.arange(moves - 1, log_weight.shape[1], moves, device=keys.device)
    equal = log_weight.amin(1, keepdim=True) == log_weight.amax(1, keepdim=True)
    return torch.where(equal, last, chosen)


class Proposal(NamedTuple):
    """How the movers of B images propose their next positions."""

    draw: Callable[[Tensor, Tensor, Tensor], Tensor]  # keys (B, n), positions (B, n, d), scale (B, 1, 1) → positions
    excess: Callable[
        [Tensor], Tensor
    ]  # (B, n, d) → (B, n) log of the prior over the density that `draw` leaves invariant


def proposal_for(target: Target, particles: Particles, half: Tensor) -> Proposal:
    """Crank–Nicolson steps about a fit, for each mover that of its `half` (B, n); about the prior if particles are too
    few for a fit; a random walk as wide as the particles if it is not Gaussian; fresh draws if it has no density."""
    width = torch.where(particles.widened, particles.power**-0.5, 1.0)[:, None, None]

    def log_prior(position: Tensor) -> Tensor:
        found = -0.5 * (position / width).square().sum(-1) if target.gaussian else target.log_prior(position)
        assert found is not None
        return found

    def nothing(position: Tensor) -> Tensor:
        return torch.zeros_like(position[..., 0])

    if not target.gaussian and target.log_prior(particles.position[:, :1]) is None:
        return Proposal(lambda keys, position, scale: target.draw(keys), nothing)
    if particles.position.shape[1] >= PARTICLES_PER_DIMENSION * target.size:
        mean, factor = fitted(particles, width * prior_spread(target)[:, None])
        inverse = torch.linalg.inv(factor)
        volume = factor.diagonal(dim1=-2, dim2=-1).log().sum(-1).gather(1, half)

        def of_half(both: Tensor) -> Tensor:
            """(B, 2, n, d) → (B, n, d)."""
            return torch.where((half == 0)[..., None], both[:, 0], both[:, 1])

        def white(position: Tensor) -> Tensor:
            return of_half((position[:, None] - mean) @ inverse.mT)

        def about_fit(keys: Tensor, position: Tensor, scale: Tensor) -> Tensor:
            return of_half(mean + crank_nicolson(white(position), scale, keys)[:, None] @ factor.mT)

        return Proposal(about_fit, lambda z: log_prior(z) + 0.5 * white(z).square().sum(-1) + volume)
    if target.gaussian:
        return Proposal(lambda keys, z, scale: width * crank_nicolson(z / width, scale, keys), nothing)
    share = particles.log_weight.softmax(1)[..., None]
    off = particles.position - (share * particles.position).sum(1, keepdim=True)
    step = (share * off.square()).sum(1, keepdim=True).sqrt() * 2.38 / math.sqrt(target.size)
    return Proposal(lambda keys, theta, scale: theta + scale * step * normal(keys, target.size), log_prior)


def fitted(particles: Particles, spread: Tensor) -> tuple[Tensor, Tensor]:
    """Means (B, 2, 1, d) of the two halves of the particles, and factors (B, 2, d, d) of their covariances.

    A few particles say little about a covariance, so it is shrunk towards the prior's, with `spread` (B, 1, d)."""
    images, count, size = particles.position.shape
    second = torch.arange(count, device=particles.position.device) >= count // 2
    log_weight = torch.stack([particles.log_weight.masked_fill(other, -torch.inf) for other in (second, ~second)], 1)
    share = log_weight.softmax(-1).nan_to_num()[..., None]  # 0 in a half without weight
    mean = (share * particles.position[:, None]).sum(2, keepdim=True)
    off = particles.position[:, None] - mean
    covariance = (share * off).mT @ off
    doubt = size / (size + kish(log_weight)[..., None, None])
    prior = torch.diag_embed(spread.square().expand(images, 2, size))
    return mean, torch.linalg.cholesky((1 - doubt) * covariance + doubt * prior)


def moved(target: Target, movers: Particles, moves: int, proposal: Proposal, keys: Tensor) -> tuple[Particles, Tensor]:
    """All positions that the movers visit, in order, and the share (B,) of proposals accepted."""
    power = torch.where(movers.widened, 1.0, movers.power)[:, None]
    numbers = torch.arange(movers.families.shape[1], device=keys.device)
    excess = proposal.excess(movers.position)
    state = ChainState(movers.position, excess, movers.log_likelihood, movers.outcomes, movers.scale)
    places, accepted = [], torch.zeros_like(movers.scale)
    for number in range(moves):
        each = fold(fold(keys, number)[:, None], numbers)
        position = proposal.draw(fold(each, NOISE), state.position, state.scale[:, None, None])
        proposed = ChainState(position, proposal.excess(position), *target.evaluate(position), state.scale)
        gain = power * (proposed.log_likelihood - state.log_likelihood)
        state, info = accept(each, state, proposed, gain + proposed.log_prior - state.log_prior)
        places.append(state)
        accepted += info.accepted.double().mean(1) / moves

    def along(values: list[Tensor]) -> Tensor:
        return torch.stack(values, 2).flatten(1, 2)

    particles = movers._replace(
        position=along([place.position for place in places]),
        log_likelihood=along([place.log_likelihood for place in places]),
        outcomes=along([place.outcomes for place in places]),
        families=movers.families.repeat_interleave(moves, 1),
        log_weight=movers.log_weight.repeat_interleave(moves, 1),
    )
    return particles, accepted


def adapted(scale: Tensor, accepted: Tensor) -> Tensor:
    """Step sizes (B,) adapted towards an acceptance of 0.3."""
    return (scale * torch.exp(3 * (accepted - 0.3))).clamp(LEAST_SCALE, 1.0)
