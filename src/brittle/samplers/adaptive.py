"""Adaptive importance sampling: proposals from a mixture fitted to weighted draws and refitted as draws arrive.

Population Monte Carlo (Cappé, Guillin, Marin & Robert 2004) with deterministic-mixture weights (Veach & Guibas 1995;
Owen & Zhou 2000): draws of all rounds are weighted against the mixture of all proposals used so far,

    w(z) = p(not ℓ | z) p(z) / Σ_r (n_r / N) q_r(z),   q_r = γ N(m, S) + (1 − γ) Σ_k N(c_k, h² S) / K

The first round is the prior p itself, which also has a share in every later round: no weight exceeds N divided by the
number of draws from the prior. While few draws carry weight, the fit uses their weights raised to a power below 1.

Where z has b exchangeable parts, such as b rectangles, few of them cause the error, most often one. With probability
π_k, any k of the parts are proposed as above, and the others as if they were independent,

    q_r(z) = N(z; 0, I) Σ_k π_k e_k(ρ_1, …, ρ_b) / C(b, k),   ρ_j = q_r(z_j) / N(z_j; 0, I)

with e_k the elementary symmetric polynomials. In the fit, a draw's weight is divided among its parts in
proportion to ρ.

Draws form two halves, and each half's proposals are fitted to the other. If a draw were weighted against kernels
centred on itself, its weight would be too small, and the effective sizes reported would be several times the true
ones. Through the other half a little of that bias remains, a few hundredths of the sum of weights. 1 − µ(x) is
therefore estimated round by round, from each round's draws against their own q_r alone, which was fixed before they
were drawn: that is unbiased. So is the estimate of µ(x), M, from the same draws, and 1 − M is another one of 1 − µ(x).
The first, A, is the better one where failures are rare, and may be above 1 where they are common; the second is the
better one there. As the error of each is about proportional to its size, they are weighted with M² and A²,

    1 − µ̂ = (M² A + A² (1 − M)) / (A² + M²)

which is 1 where all draws fail and, unless A or M were above 4, never outside [0, 1].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import torch
from torch import Tensor

from brittle.random import fold, normal, uniform
from brittle.registry import option
from brittle.samplers import register
from brittle.samplers.crank_nicolson import needs_gaussian
from brittle.samplers.target import Budget, PosteriorDraws, PriorDraws, Target, log_density, standard_normal

CENTRE, KERNEL, NOISE, LEAD, PRIOR = 1, 2, 3, 4, 5  # streams of a round's randomness
WIDTHS = (0.25, 0.35, 0.5, 0.7, 1.0)  # h, in standard deviations of the weighted draws
ALONE = 0.8  # share of proposals that draw a single part from the fit, where there are several
WIDE = 2.0  # while no failure has been found, the search is this many times as wide as the prior
FAILURE = math.log(0.5)  # log p(not ℓ) from which a draw is a failure and not merely a doubt


class Mixture(NamedTuple):
    """Proposals for B images, for any of the `parts` of a position: one broad normal, and kernels around draws."""

    centres: Tensor  # (B, K, d / parts)
    mean: Tensor  # (B, 1, d / parts)
    factor: Tensor  # (B, d / parts, d / parts) lower triangular: S = factor factorᵀ
    width: Tensor  # (B,) h
    broad: float  # γ
    parts: int

    def log_density(self, position: Tensor) -> Tensor:
        """(B, n, d) → (B, n)"""
        sums = [torch.zeros_like(position[..., 0])]  # log e_k for k from 0 to the number of parts so far
        for ratio in self.log_ratios(position).unbind(-1):
            more = [each + ratio for each in sums]
            sums = [sums[0], *map(torch.logaddexp, sums[1:], more[:-1]), more[-1]]
        shares = [math.log(share / math.comb(self.parts, k)) for k, share in enumerate(leading_shares(self.parts), 1)]
        mixed = torch.stack([each + share for each, share in zip(sums[1:], shares, strict=True)]).logsumexp(0)
        return standard_normal(position) + mixed

    def log_ratios(self, position: Tensor) -> Tensor:
        """(B, n, d) → log ρ (B, n, parts)"""
        z = split(position, self.parts)
        d = z.shape[-1]
        whiten = torch.linalg.inv(self.factor).mT
        log_volume = torch.diagonal(self.factor, dim1=-2, dim2=-1).log().sum(-1)[:, None]
        narrow = whiten / self.width[:, None, None]
        here, there = z @ narrow, self.centres @ narrow
        squares = here.square().sum(-1)[..., None] + there.square().sum(-1)[:, None] - 2 * here @ there.mT
        kernels = (-0.5 * squares).logsumexp(-1) - math.log(self.centres.shape[1]) - d * self.width.log()[:, None]
        broad = -0.5 * ((z - self.mean) @ whiten).square().sum(-1)
        mixed = torch.logaddexp(kernels + math.log1p(-self.broad), broad + math.log(self.broad))
        ratios = mixed - log_volume + 0.5 * z.square().sum(-1)
        return ratios.view(*position.shape[:2], self.parts)

    def draw(self, keys: Tensor) -> Tensor:
        """keys (B, n) → (B, n, d)"""
        d = self.centres.shape[-1]
        which = split(uniform(fold(keys, KERNEL), self.parts), self.parts)[..., 0]
        kernel = ((which - self.broad) / (1 - self.broad)).clamp(min=0) * self.centres.shape[1]
        noise = split(normal(fold(keys, NOISE), self.parts * d), self.parts)
        spread = noise @ self.factor.mT
        near = self.centres.gather(1, kernel.long()[..., None].expand(-1, -1, d))
        wide = (which < self.broad)[..., None]
        drawn = torch.where(wide, self.mean + spread, near + self.width[:, None, None] * spread)
        chosen = split(leading(fold(keys, LEAD), self.parts), self.parts)
        return torch.where(chosen, drawn, noise).reshape(*keys.shape, -1)


def leading_shares(parts: int) -> list[float]:
    """π_k for k from 1: how often k of the parts are drawn from the fit."""
    return [1.0] if parts == 1 else [ALONE, *[(1 - ALONE) / (parts - 1)] * (parts - 1)]


def leading(keys: Tensor, parts: int) -> Tensor:
    """keys (B, n) → bool (B, n, parts): which parts are drawn from the fit, k with probability π_k, any k alike."""
    numbers = uniform(keys, parts + 1)
    ends = torch.tensor(leading_shares(parts), dtype=torch.float64, device=keys.device).cumsum(0)[:-1]
    others = (numbers[..., -1:] > ends).sum(-1, keepdim=True)
    return numbers[..., :-1].argsort(-1).argsort(-1) <= others


def split(position: Tensor, parts: int) -> Tensor:
    """(B, n, d) → (B, n · parts, d / parts)"""
    return position.reshape(len(position), position.shape[1] * parts, -1)


class WeightedDraws(NamedTuple):
    """Half of the draws for B images, and the proposals they came from."""

    position: Tensor  # (B, n, d)
    log_likelihood: Tensor  # (B, n)
    outcomes: Tensor  # (B, n, r)
    log_prior: Tensor  # (B, n)
    log_proposals: Tensor  # (B, n) log Σ_r n_r q_r
    rounds: tuple[tuple[Mixture, int], ...]  # each with the number of draws from it
    first: int  # draws from the prior, over all rounds
    evidence: Tensor  # (rounds + 1, B) log of each round's estimate of 1 − µ(x)
    rest: Tensor  # (rounds + 1, B) log of each round's estimate of µ(x)
    sizes: tuple[int, ...]  # all draws of each round

    @property
    def log_weight(self) -> Tensor:
        return self.log_likelihood + self.log_prior - self.log_proposals

    def blame(self, parts: int) -> Tensor:
        """(B, n, parts) how much of each draw is due to each part, by proposals fitted to the other half."""
        if parts > 1 and self.rounds:
            return self.rounds[-1][0].log_ratios(self.position).softmax(-1)
        return self.log_prior.new_full((*self.log_prior.shape, parts), 1 / parts)

    def drawn(self, target: Target, mixture: Mixture, keys: Tensor, prior: int) -> WeightedDraws:
        """Adds the draws of one more round and reweights all of them. keys (B, n), the first `prior` for the prior."""
        position = torch.cat((target.draw(fold(keys[:, :prior], PRIOR)), mixture.draw(keys[:, prior:])), 1)
        count = keys.shape[1] - prior
        evaluation, log_prior = target.evaluate(position), log_density(target, position)
        log_proposals = log_prior + math.log(self.first)
        for earlier, size in self.rounds:
            log_proposals = torch.logaddexp(log_proposals, earlier.log_density(position) + math.log(size))
        together, log_priors = torch.cat((self.position, position), 1), torch.cat((self.log_prior, log_prior), 1)
        own = torch.logaddexp(mixture.log_density(together) + math.log(count), log_priors + math.log(prior))
        weight = log_prior - own[:, -keys.shape[1] :]
        estimate = (weight + evaluation.log_likelihood).logsumexp(1)
        rest = (weight + log_of_rest(evaluation.log_likelihood)).logsumexp(1)
        return WeightedDraws(
            together,
            torch.cat((self.log_likelihood, evaluation.log_likelihood), 1),
            torch.cat((self.outcomes, evaluation.outcomes), 1),
            log_priors,
            torch.logaddexp(torch.cat((self.log_proposals, log_proposals), 1), own),
            (*self.rounds, (mixture, count)),
            self.first + prior,
            torch.cat((self.evidence, estimate[None])),
            torch.cat((self.rest, rest[None])),
            (*self.sizes, keys.shape[1]),
        )


@register("adaptive")
@dataclass(frozen=True)
class AdaptiveImportance:
    """Weighted draws from a mixture that learns where the classifier fails."""

    name: ClassVar[str] = "adaptive"
    space: ClassVar[Literal["latent", "parameters"]] = "latent"

    rounds: int = option(10, "how often the mixture is refitted", least=1)
    kernels: int = option(100, "number of kernels in a mixture", least=1)
    first: float = option(0.15, "share of the calls spent on the first round, drawn from the prior", above=0, below=1)
    prior: float = option(
        0.1, "share of each later round drawn from the prior, which keeps weights bounded", above=0, below=1
    )
    broad: float = option(0.4, "share of each later round drawn from one broad normal", above=0, below=1)

    def check(self, target: Target) -> None:
        if not target.parts:
            needs_gaussian(target, self.name)

    def sample(self, target: Target, budget: Budget) -> PosteriorDraws:
        self.check(target)
        begin = max(2, round(self.first * budget.calls), target.measured)
        start = target.prior(begin)
        halves = [self._begun(target, start, half) for half in (0, 1)]
        left = max(0, budget.calls - start.calls)
        spent = 0
        for turn in range(self.rounds):
            count = left * (turn + 1) // self.rounds // 2 - spent
            if count > 1:
                spent += count
                keys = [fold(fold(target.keys, turn + 1), half) for half in (0, 1)]
                fitted = [self._fitted(halves[1 - half], keys[half], target.parts) for half in (0, 1)]
                numbers = torch.arange(count, device=target.keys.device)
                prior = min(count - 1, max(1, round(self.prior * count)))
                halves = [
                    halves[half].drawn(target, fitted[half], fold(keys[half][:, None], numbers), prior)
                    for half in (0, 1)
                ]
        log_weight = torch.cat([half.log_weight for half in halves], 1) - math.log(2)
        images = len(log_weight)
        return PosteriorDraws(
            torch.cat([half.position for half in halves], 1)[:, None].float(),
            log_weight[:, None],
            torch.cat([half.log_likelihood for half in halves], 1)[:, None],
            torch.cat([half.outcomes for half in halves], 1)[:, None],
            torch.full((images,), start.calls + 2 * spent, device=log_weight.device),
            torch.full((images,), math.nan, dtype=torch.float64, device=log_weight.device),
            (self.name,) * images,
            chains=False,
            evidence=pooled(halves),
            from_prior=torch.full((images,), sum(half.first for half in halves), device=log_weight.device),
        )

    def _begun(self, target: Target, start: PriorDraws, half: int) -> WeightedDraws:
        position, likelihood = start.position[:, half::2], start.evaluation.log_likelihood[:, half::2]
        log_prior, count = log_density(target, position), position.shape[1]
        evidence, rest = (each.logsumexp(1)[None] - math.log(count) for each in (likelihood, log_of_rest(likelihood)))
        outcomes, proposals = start.evaluation.outcomes[:, half::2], log_prior + math.log(count)
        return WeightedDraws(position, likelihood, outcomes, log_prior, proposals, (), count, evidence, rest, (count,))

    def _fitted(self, half: WeightedDraws, keys: Tensor, parts: int) -> Mixture:
        """Wide where the first draws hold no failure: their weights only tell one small doubt from
        another, and a search around the larger ones would never meet a failure that is rare and sharp."""
        found = half.log_likelihood >= FAILURE if not half.rounds else half.log_weight > -torch.inf
        return fit(half.position, half.log_weight, half.blame(parts), keys, self.kernels, self.broad, ~found.any(1))


def pooled(halves: list[WeightedDraws]) -> Tensor:
    """(B,) log of the estimate of 1 − µ(x) from all rounds. Later rounds know more: a draw of round r counts r²
    times."""
    shares = torch.tensor([[size * place**2 for place, size in enumerate(half.sizes, 1)] for half in halves])
    logs = (shares / shares.sum()).log().to(halves[0].evidence)
    failing, rest = (
        torch.cat([each + log[:, None] for each, log in zip(of, logs, strict=True)]).logsumexp(0)
        for of in ([half.evidence for half in halves], [half.rest for half in halves])
    )
    a, m = failing.exp(), rest.exp()
    # 1 − µ̂ = A (M² + A (1 − M)) / (A² + M²), and A itself where it is too small for a float.
    return (failing + ((m * m + a * (1 - m)) / (a * a + m * m)).clamp(min=0).log()).clamp(max=0)


def log_of_rest(log_likelihood: Tensor) -> Tensor:
    """log p(ℓ) where log p(not ℓ) is given."""
    return torch.log1p(-log_likelihood.clamp(max=0).exp())


def fit(
    position: Tensor, log_weight: Tensor, blame: Tensor, keys: Tensor, kernels: int, broad: float, wide: Tensor
) -> Mixture:
    """A mixture fitted to weighted draws (B, N, d): centres drawn by weight, width by leave-one-out likelihood.

    Its spread is that of the draws, or where `wide` (B,) that of a search for what they don't show."""
    parts = blame.shape[-1]
    z = split(position, parts)
    d = z.shape[-1]
    weight = (tempered(log_weight, 2.0 * (d + 1))[..., None] * blame).flatten(1)
    mean = (weight[..., None] * z).sum(1, keepdim=True)
    off = z - mean
    eye = torch.eye(d, dtype=z.dtype, device=z.device)
    # A few draws say little about a covariance, so it is shrunk towards the prior's.
    share = (d / (d + 1 / weight.square().sum(-1)))[:, None, None]
    spread = (1 - share) * (weight[..., None] * off).mT @ off + (share + 1e-9) * eye
    factor = torch.where(wide[:, None, None], WIDE * eye, torch.linalg.cholesky(spread))
    cumulative = weight.cumsum(-1)
    ladder = (torch.arange(kernels, device=z.device) + uniform(fold(keys, CENTRE), 1)) / kernels
    places = torch.searchsorted(cumulative, ladder * cumulative[:, -1:]).clamp(max=z.shape[1] - 1)
    centres = z.gather(1, places[..., None].expand(-1, -1, d))
    white = centres @ torch.linalg.inv(factor).mT
    squares = torch.cdist(white, white).square()
    same = places[:, :, None] == places[:, None, :]
    scores = [
        torch.where(same, -torch.inf, -0.5 * squares / h**2).logsumexp(-1).clamp(min=-700).mean(-1) - d * math.log(h)
        for h in WIDTHS
    ]
    width = torch.tensor(WIDTHS, dtype=z.dtype, device=z.device)[torch.stack(scores, -1).argmax(-1)]
    return Mixture(centres, mean, factor, width, broad, parts)


def tempered(log_weight: Tensor, least: float) -> Tensor:
    """Normalised weights (B, N), raised to the largest power up to 1 at which their Kish size is at least `least`."""
    above = log_weight - log_weight.amax(-1, keepdim=True).nan_to_num(neginf=0.0)

    def shares(power: Tensor) -> tuple[Tensor, Tensor]:
        # 0 · −∞ would be NaN: an impossible draw stays impossible at every power.
        weight = torch.softmax(torch.where(above == -torch.inf, above, power * above), -1)
        return weight, 1 / weight.square().sum(-1, keepdim=True) >= least

    low, high = torch.zeros_like(above[:, :1]), torch.ones_like(above[:, :1])
    weight, enough = shares(high)
    if not enough.all():
        low = torch.where(enough, high, low)
        for _ in range(20):
            middle = (low + high) / 2
            fine = shares(middle)[1]
            low, high = torch.where(fine, middle, low), torch.where(fine, high, middle)
        weight = shares(low)[0]
    return weight.nan_to_num(nan=1 / above.shape[-1])
