"""Sequential Monte Carlo (Del Moral, Doucet & Jasra 2006) from the prior to the posterior.

Between the two lie the densities p(not ℓ | θ)^t p(θ), t from 0 to 1. A round weighs the particles of each image for
its next t, draws some of them by these weights, and moves those. As in waste-free SMC (Dau & Chopin 2022) every place
that a mover visits becomes a particle, and once t = 1 these are the draws.

Moves are Crank–Nicolson's about a Gaussian fitted to the particles, where there are enough to fit one. A mover goes by
the fit of the half of the particles that it does not stem from: fitted to themselves, small populations contract.

Powers of 0 and of 1 lead nowhere. For classifiers that give nothing else it is the Gaussian prior that changes:
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
from brittle.samplers.chain import KEPT_NUMBERS, LEAST_SCALE, MOVE, NOISE, State, accept
from brittle.samplers.crank_nicolson import crank_nicolson
from brittle.samplers.diagnostics import kish
from brittle.samplers.metropolis import prior_spread
from brittle.samplers.target import Budget, Sampled, Target

PARTICLES, PICK, WIDEN = 5, 6, 7  # streams of an image's randomness
FEWEST_PARTICLES = 32
PARTICLES_A_DIMENSION = 10  # that a fit needs
WIDTHS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)  # of the prior, in its own standard deviations
WIDENED_DRAWS = 64  # looked at for each width
WRONG_ENOUGH = 0.1  # share of draws
HALVINGS = 50


class Crowd(NamedTuple):
    """The particles of B images, and how far each image has come."""

    position: Tensor  # (B, n, d)
    log_likelihood: Tensor  # (B, n)
    record: Tensor  # (B, n, r)
    families: Tensor  # (B, n) first ancestors
    log_weight: Tensor  # (B, n)
    power: Tensor  # (B,) t
    widened: Tensor  # (B,) whether it is the prior that changes with t
    scale: Tensor  # (B,) step size
    evidence: Tensor  # (B,) log of the normalising constant

    def take(self, images: Tensor) -> Crowd:
        return Crowd(*(each[images] for each in self))

    def at(self, places: Tensor) -> Crowd:
        """Some particles (B, n), all of one weight."""

        def of(values: Tensor) -> Tensor:
            index = places.view(*places.shape, *(1,) * (values.ndim - 2))
            return values.gather(1, index.expand(*places.shape, *values.shape[2:]))

        return self._replace(
            position=of(self.position),
            log_likelihood=of(self.log_likelihood),
            record=of(self.record),
            families=of(self.families),
            log_weight=torch.zeros_like(places, dtype=torch.float64),
        )

    def put(self, images: Tensor, other: Crowd) -> None:
        for mine, theirs in zip(self, other, strict=True):
            mine[images] = theirs


@register("smc")
@dataclass(frozen=True)
class SequentialMonteCarlo:
    """A population that is led from the prior to the posterior; finds what is rare, and what lies apart."""

    name: ClassVar[str] = "smc"
    space: ClassVar[Literal["latent", "parameters"]] = "latent"

    particles: int | None = option(None, "how many; an eighth of the calls unless given", least=2)
    moves: int = option(2, "moves in a round, made by one in so many of the particles", least=1)
    fall: float = option(0.7, "share to which the effective size falls from one t to the next", above=0, below=1)

    def check(self, target: Target) -> None:
        """Every prior can be drawn from, and then moved in one way or another."""

    def sample(self, target: Target, budget: Budget) -> Sampled:
        movers = max(1, (self.particles or max(FEWEST_PARTICLES, budget.calls // 8)) // self.moves)
        count = movers * self.moves
        crowd, calls = begin(target, count)
        rounds = max(1, (budget.calls - int(calls.min())) // count)
        kept = Kept(crowd, rounds)
        for turn in range(2 * rounds):  # images far from t = 1 when the budget is spent may go on for as long again
            alive = (crowd.log_weight > -torch.inf).any(1)
            active = (alive & ((crowd.power < 1) | (turn < rounds))).nonzero()[:, 0]
            if not len(active):
                break
            here, keys = target.take(active), fold(fold(target.keys[active], PARTICLES), turn)
            some = weighed(crowd.take(active), self.fall if turn < 2 * rounds - 1 else 0.0)
            chosen = picked(some.log_weight, movers, fold(keys, PICK))
            proposal = proposal_for(here, some, (chosen < count // 2).long())
            some, accepted = moved(here, some.at(chosen), self.moves, proposal, fold(keys, MOVE))
            # Step sizes stay as they are once draws are kept.
            some = some._replace(scale=torch.where(kept.rounds[active] == 0, adapted(some.scale, accepted), some.scale))
            crowd.put(active, some)
            calls[active] += count
            kept.add(active[some.power == 1], accepted[some.power == 1], crowd)
        return kept.sampled(crowd, calls, self.name)


class Kept:
    """The draws: every place visited at t = 1, thinned where there are too many to hold."""

    def __init__(self, crowd: Crowd, rounds: int) -> None:
        images, count, size = crowd.position.shape
        self.thin = min(count, max(1, -(-images * rounds * count * size // KEPT_NUMBERS)))
        slots = (images, rounds, -(-count // self.thin))
        self.position = crowd.position.new_zeros(*slots, size, dtype=torch.float32)
        self.record = crowd.record.new_zeros(*slots, crowd.record.shape[-1])
        self.log_likelihood = crowd.log_likelihood.new_full(slots, -torch.inf)
        self.log_weight = torch.full_like(self.log_likelihood, -torch.inf)
        self.families = crowd.families.new_zeros(slots)
        self.rounds = torch.zeros_like(crowd.families[:, 0])
        self.accepted = torch.zeros_like(crowd.power)

    def add(self, images: Tensor, accepted: Tensor, crowd: Crowd) -> None:
        place, chosen = (images, self.rounds[images]), crowd.take(images)
        self.position[place] = chosen.position[:, :: self.thin].float()
        self.record[place] = chosen.record[:, :: self.thin]
        self.log_likelihood[place] = chosen.log_likelihood[:, :: self.thin]
        self.log_weight[place] = chosen.log_weight[:, :: self.thin]
        self.families[place] = chosen.families[:, :: self.thin]
        self.rounds[images] += 1
        self.accepted[images] += accepted

    def sampled(self, crowd: Crowd, calls: Tensor, name: str) -> Sampled:
        used = max(1, int(self.rounds.max()))

        def flat(values: Tensor) -> Tensor:
            return values[:, :used].flatten(1, 2)[:, None]

        dead = (crowd.log_weight == -torch.inf).all(1)
        return Sampled(
            flat(self.position),
            flat(self.log_weight),
            flat(self.log_likelihood),
            flat(self.record),
            calls,
            self.accepted / self.rounds,
            (name,) * len(calls),
            chains=False,
            families=flat(self.families),
            evidence=crowd.evidence.masked_fill(dead, -torch.inf),
        )


def begin(target: Target, count: int) -> tuple[Crowd, Tensor]:
    """Particles of the prior, or of a wider one where that is what changes; and the calls (B,) this took."""
    first = target.prior(count)
    likelihood = first.seen.log_likelihood
    nothing_between = ((likelihood == 0) | (likelihood == -torch.inf)).all(1) | target.hard
    widened = nothing_between & target.gaussian
    possible = torch.where(likelihood > -torch.inf, 0.0, -torch.inf).to(likelihood)
    crowd = Crowd(
        first.position.double(),
        likelihood.clone(),
        first.seen.record.clone(),
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
        position = width[:, None, None] * crowd.position[rare]
        seen = here.look(position)
        crowd.put(
            rare,
            crowd.take(rare)._replace(
                position=position,
                log_likelihood=seen.log_likelihood,
                record=seen.record,
                log_weight=seen.log_likelihood,
                power=width**-2,
            ),
        )
        calls[rare] += count + len(WIDTHS) * WIDENED_DRAWS
    return crowd, calls


def wide_enough(target: Target) -> Tensor:
    """(B,) the smallest of WIDTHS at which enough draws of N(0, width² I) are wrong, or that with most of them."""
    numbers = torch.arange(len(WIDTHS) * WIDENED_DRAWS, device=target.keys.device)
    widths = torch.tensor(WIDTHS, dtype=torch.float64, device=target.keys.device)
    draws = normal(fold(fold(target.keys, WIDEN)[:, None], numbers), target.size)
    seen = target.look(widths.repeat_interleave(WIDENED_DRAWS)[:, None] * draws)
    wrong = seen.log_likelihood.exp().view(-1, len(WIDTHS), WIDENED_DRAWS).mean(2)
    return widths[wrong.clamp(max=WRONG_ENOUGH).argmax(1)]


def weighed(crowd: Crowd, fall: float) -> Crowd:
    """The particles with weights for the next t: the furthest to which the effective size falls no lower than `fall`.

    d log density / dt is log p(not ℓ), or −|z|²/2 + (d/2)/t where the prior changes."""
    size = crowd.position.shape[-1]
    slope = torch.where(crowd.widened[:, None], -0.5 * crowd.position.square().sum(-1), crowd.log_likelihood)
    slope = torch.where(crowd.log_weight > -torch.inf, slope, 0.0)
    floor, left = fall * kish(crowd.log_weight), 1 - crowd.power
    at_once = kish(crowd.log_weight + left[:, None] * slope) >= floor
    near, far = torch.zeros_like(left), left
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        enough = kish(crowd.log_weight + middle[:, None] * slope) >= floor
        near, far = torch.where(enough, middle, near), torch.where(enough, far, middle)
    step = torch.where(at_once, left, far)
    power = torch.where(at_once, 1.0, crowd.power + step)
    log_weight = crowd.log_weight + step[:, None] * slope
    volume = torch.where(crowd.widened, 0.5 * size * (power / crowd.power).log(), 0.0)
    gained = log_weight.logsumexp(1) - math.log(log_weight.shape[1]) + volume
    return crowd._replace(power=power, log_weight=log_weight, evidence=crowd.evidence + gained)


def picked(log_weight: Tensor, count: int, keys: Tensor) -> Tensor:
    """Places (B, count) of particles, in order, by systematic resampling: one u an image.

    Where all weights are equal it is every so many-th, which of particles that moved is where they came to at last."""
    cumulative = log_weight.softmax(1).cumsum(1)
    points = (torch.arange(count, device=keys.device) + uniform(keys, 1)) / count
    chosen = torch.searchsorted(cumulative / cumulative[:, -1:], points, right=True)
    moves = log_weight.shape[1] // count
    last = torch.arange(moves - 1, log_weight.shape[1], moves, device=keys.device)
    equal = log_weight.amin(1, keepdim=True) == log_weight.amax(1, keepdim=True)
    return torch.where(equal, last, chosen)


class Proposal(NamedTuple):
    """How the movers of B images go on."""

    draw: Callable[[Tensor, Tensor, Tensor], Tensor]  # keys (B, n), positions (B, n, d), scale (B, 1, 1) → positions
    excess: Callable[[Tensor], Tensor]  # (B, n, d) → (B, n) log of the prior over what `draw` leaves as it is


def proposal_for(target: Target, crowd: Crowd, half: Tensor) -> Proposal:
    """Crank–Nicolson's about a fit, for each mover that of its `half` (B, n); about the prior where particles are too
    few for a fit; a random walk as wide as they are where it is not Gaussian; draws of a prior that has no density."""
    width = torch.where(crowd.widened, crowd.power**-0.5, 1.0)[:, None, None]

    def log_prior(position: Tensor) -> Tensor:
        found = -0.5 * (position / width).square().sum(-1) if target.gaussian else target.log_prior(position)
        assert found is not None
        return found

    def nothing(position: Tensor) -> Tensor:
        return torch.zeros_like(position[..., 0])

    if not target.gaussian and target.log_prior(crowd.position[:, :1]) is None:
        return Proposal(lambda keys, position, scale: target.draw(keys), nothing)
    if crowd.position.shape[1] >= PARTICLES_A_DIMENSION * target.size:
        mean, factor = fitted(crowd, width * prior_spread(target)[:, None])
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
    share = crowd.log_weight.softmax(1)[..., None]
    off = crowd.position - (share * crowd.position).sum(1, keepdim=True)
    step = (share * off.square()).sum(1, keepdim=True).sqrt() * 2.38 / math.sqrt(target.size)
    return Proposal(lambda keys, theta, scale: theta + scale * step * normal(keys, target.size), log_prior)


def fitted(crowd: Crowd, spread: Tensor) -> tuple[Tensor, Tensor]:
    """Means (B, 2, 1, d) of the two halves of the particles, and factors (B, 2, d, d) of their covariances.

    Few particles say little of a covariance, which is drawn towards that of the prior, with its `spread` (B, 1, d)."""
    images, count, size = crowd.position.shape
    second = torch.arange(count, device=crowd.position.device) >= count // 2
    log_weight = torch.stack([crowd.log_weight.masked_fill(other, -torch.inf) for other in (second, ~second)], 1)
    share = log_weight.softmax(-1).nan_to_num()[..., None]  # 0 in a half that has nothing
    mean = (share * crowd.position[:, None]).sum(2, keepdim=True)
    off = crowd.position[:, None] - mean
    covariance = (share * off).mT @ off
    doubt = size / (size + kish(log_weight)[..., None, None])
    prior = torch.diag_embed(spread.square().expand(images, 2, size))
    return mean, torch.linalg.cholesky((1 - doubt) * covariance + doubt * prior)


def moved(target: Target, movers: Crowd, moves: int, proposal: Proposal, keys: Tensor) -> tuple[Crowd, Tensor]:
    """All places that the movers come to, one after the other, and the share (B,) of proposals accepted."""
    power = torch.where(movers.widened, 1.0, movers.power)[:, None]
    numbers = torch.arange(movers.families.shape[1], device=keys.device)
    excess = proposal.excess(movers.position)
    state = State(movers.position, excess, movers.log_likelihood, movers.record, movers.scale)
    places, accepted = [], torch.zeros_like(movers.scale)
    for number in range(moves):
        each = fold(fold(keys, number)[:, None], numbers)
        position = proposal.draw(fold(each, NOISE), state.position, state.scale[:, None, None])
        proposed = State(position, proposal.excess(position), *target.look(position), state.scale)
        gain = power * (proposed.log_likelihood - state.log_likelihood)
        state, info = accept(each, state, proposed, gain + proposed.log_prior - state.log_prior)
        places.append(state)
        accepted += info.accepted.double().mean(1) / moves

    def along(values: list[Tensor]) -> Tensor:
        return torch.stack(values, 2).flatten(1, 2)

    crowd = movers._replace(
        position=along([place.position for place in places]),
        log_likelihood=along([place.log_likelihood for place in places]),
        record=along([place.record for place in places]),
        families=movers.families.repeat_interleave(moves, 1),
        log_weight=movers.log_weight.repeat_interleave(moves, 1),
    )
    return crowd, accepted


def adapted(scale: Tensor, accepted: Tensor) -> Tensor:
    """Step sizes (B,) that come nearer to an acceptance of 0.3."""
    return (scale * torch.exp(3 * (accepted - 0.3))).clamp(LEAST_SCALE, 1.0)
