"""Sequential Monte Carlo (Del Moral, Doucet & Jasra 2006) from the prior to the posterior.

Between the two lie the densities p(not ℓ | θ)^t p(θ), t from 0 to 1. A round weighs the particles of each image for
its next t, draws some of them by these weights, and moves those. As in waste-free SMC (Dau & Chopin 2022) every place
that a mover visits becomes a particle, and once t = 1 these are the draws.

Powers of 0 and of 1 lead nowhere. For classifiers that give nothing else it is the Gaussian prior that changes:
p(not ℓ | z) N(z; 0, I/t), from a t at which some draws are wrong to t = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.random import fold, normal, uniform
from brittle.registry import option
from brittle.samplers import register
from brittle.samplers.chain import GREATEST_SCALE, KEPT_NUMBERS, LEAST_SCALE, MOVE, NOISE, State, accept
from brittle.samplers.crank_nicolson import crank_nicolson
from brittle.samplers.diagnostics import kish
from brittle.samplers.target import Budget, Sampled, Target

PARTICLES, PICK, WIDEN = 5, 6, 7  # streams of an image's randomness
FEWEST_PARTICLES = 32
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

    def put(self, images: Tensor, other: Crowd) -> None:
        for mine, theirs in zip(self, other, strict=True):
            mine[images] = theirs


@register("smc")
@dataclass(frozen=True)
class SequentialMonteCarlo:
    """A population that is led from the prior to the posterior; finds what is rare, and what lies apart."""

    name: ClassVar[str] = "smc"
    space: ClassVar[Literal["latent", "parameters"]] = "latent"

    particles: int | None = option(None, "how many; a tenth of the calls unless given")
    moves: int = option(4, "moves in a round, made by one in so many of the particles")
    fall: float = option(0.5, "share to which the effective size falls from one t to the next")

    def __post_init__(self) -> None:
        if self.particles is not None and self.particles < 2:
            raise BrittleError(f"option 'particles' is {self.particles}", "Give at least 2.")
        if self.moves < 1:
            raise BrittleError(f"option 'moves' is {self.moves}", "Give at least 1.")
        if not 0 < self.fall < 1:
            raise BrittleError(f"option 'fall' is {self.fall:g}", "It lies between 0 and 1.")

    def check(self, target: Target) -> None:
        """Every prior can be drawn from, and then moved in one way or another."""

    def sample(self, target: Target, budget: Budget) -> Sampled:
        movers = max(1, (self.particles or max(FEWEST_PARTICLES, budget.calls // 10)) // self.moves)
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
            spread = weighted_spread(some)
            some, accepted = moved(here, picked(some, movers, fold(keys, PICK)), self.moves, spread, fold(keys, MOVE))
            # Step sizes stay as they are once draws are kept.
            greatest = 1.0 if target.gaussian else GREATEST_SCALE
            some = some._replace(
                scale=torch.where(kept.rounds[active] == 0, adapted(some.scale, accepted, greatest), some.scale)
            )
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
        torch.full_like(likelihood[:, 0], 1.0 if target.gaussian else 2.38 / math.sqrt(target.size)),
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
    wrong = seen.log_likelihood.exp().unflatten(1, (len(WIDTHS), -1)).mean(2)
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


def picked(crowd: Crowd, count: int, keys: Tensor) -> Crowd:
    """Some particles, by systematic resampling (Carpenter, Clifford & Fearnhead 1999): one u an image.

    Where all weights are equal, those that moved last."""
    cumulative = crowd.log_weight.softmax(1).cumsum(1)
    points = (torch.arange(count, device=keys.device) + uniform(keys, 1)) / count
    chosen = torch.searchsorted(cumulative / cumulative[:, -1:], points, right=True)
    last = torch.arange(cumulative.shape[1] - count, cumulative.shape[1], device=keys.device)
    equal = crowd.log_weight.amin(1) == crowd.log_weight.amax(1)
    chosen = torch.where(equal[:, None], last, chosen)

    def at(values: Tensor) -> Tensor:
        return values.gather(1, chosen.view(*chosen.shape, *(1,) * (values.ndim - 2)).expand(-1, -1, *values.shape[2:]))

    return Crowd(*map(at, crowd[:4]), torch.zeros_like(points), *crowd[5:])


def weighted_spread(crowd: Crowd) -> Tensor:
    """Standard deviations (B, 1, d) of the particles."""
    share = crowd.log_weight.softmax(1)[..., None]
    mean = (share * crowd.position).sum(1, keepdim=True)
    return (share * (crowd.position - mean).square()).sum(1, keepdim=True).sqrt().clamp(min=1e-9)


def moved(target: Target, crowd: Crowd, moves: int, spread: Tensor, keys: Tensor) -> tuple[Crowd, Tensor]:
    """All places that the particles come through in some moves, and the share (B,) of proposals accepted."""
    power = torch.where(crowd.widened, 1.0, crowd.power)[:, None]
    width = torch.where(crowd.widened, crowd.power**-0.5, 1.0)[:, None, None]
    scale, numbers = crowd.scale[:, None, None], torch.arange(crowd.families.shape[1], device=keys.device)
    density = None if target.gaussian else target.log_prior(crowd.position)
    flat = torch.zeros_like(crowd.log_likelihood)
    state = State(crowd.position, flat if density is None else density, crowd.log_likelihood, crowd.record, crowd.scale)
    places, accepted = [], torch.zeros_like(crowd.scale)
    for number in range(moves):
        each = fold(fold(keys, number)[:, None], numbers)
        if target.gaussian:
            position = width * crank_nicolson(state.position / width, scale, fold(each, NOISE))
        elif density is not None:
            position = state.position + scale * spread * normal(fold(each, NOISE), target.size)
        else:
            position = target.draw(fold(each, NOISE))
        found = None if density is None else target.log_prior(position)
        proposed = State(position, flat if found is None else found, *target.look(position), state.scale)
        gain = power * (proposed.log_likelihood - state.log_likelihood)
        state, info = accept(each, state, proposed, gain + proposed.log_prior - state.log_prior)
        places.append(state)
        accepted += info.accepted.double().mean(1) / moves
    families = crowd.families.repeat(1, moves)
    everywhere = crowd._replace(
        position=torch.cat([place.position for place in places], 1),
        log_likelihood=torch.cat([place.log_likelihood for place in places], 1),
        record=torch.cat([place.record for place in places], 1),
        families=families,
        log_weight=torch.zeros_like(families, dtype=torch.float64),
    )
    return everywhere, accepted


def adapted(scale: Tensor, accepted: Tensor, greatest: float) -> Tensor:
    """Step sizes (B,) that come nearer to an acceptance of 0.3."""
    return (scale * torch.exp(3 * (accepted - 0.3))).clamp(LEAST_SCALE, greatest)
