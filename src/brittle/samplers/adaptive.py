"""Adaptive importance sampling: proposals from a mixture fitted to weighted draws, refitted as draws arrive.

Population Monte Carlo (Cappé, Guillin, Marin & Robert 2004) with deterministic-mixture weights (Veach & Guibas 1995;
Owen & Zhou 2000): draws of all rounds are weighted against the mixture of all proposals used so far,

    w(z) = p(not ℓ | z) p(z) / Σ_r (n_r / N) q_r(z),   q_r = δ p + γ N(m, S) + (1 − δ − γ) Σ_k N(c_k, h² S) / K

The first round is the prior itself, and a share δ of every other: no weight exceeds N over the number of draws that
came from the prior. While few draws matter, the fit uses their weights raised to a power below 1.

Draws form two halves, and each half's proposals are fitted to the other. Were a draw weighted against kernels that
stand on itself, its weight would be too small, and the sizes claimed several times those kept.
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
from brittle.samplers.crank_nicolson import needs_gaussian
from brittle.samplers.target import Budget, Sampled, Target

CENTRE, KERNEL, NOISE = 1, 2, 3  # streams of a round's randomness
WIDTHS = (0.25, 0.35, 0.5, 0.7, 1.0)  # h, in standard deviations of the weighted draws
WIDE = 2.0  # where nothing was found yet, the search goes so many times as far as the prior


class Mixture(NamedTuple):
    """Proposals of B images: the prior N(0, I), one broad normal, and kernels about draws."""

    centres: Tensor  # (B, K, d)
    mean: Tensor  # (B, 1, d)
    factor: Tensor  # (B, d, d) lower triangular: S = factor factorᵀ
    width: Tensor  # (B,) h
    prior_share: float
    broad_share: float

    def log_density(self, z: Tensor) -> Tensor:
        """(B, n, d) → (B, n)"""
        d = z.shape[-1]
        whiten = torch.linalg.inv(self.factor).mT
        log_volume = torch.diagonal(self.factor, dim1=-2, dim2=-1).log().sum(-1)[:, None]
        narrow = whiten / self.width[:, None, None]
        here, there = z @ narrow, self.centres @ narrow
        squares = here.square().sum(-1)[..., None] + there.square().sum(-1)[:, None] - 2 * here @ there.mT
        kernels = (-0.5 * squares).logsumexp(-1) - math.log(self.centres.shape[1])
        kernels = kernels - log_volume - d * self.width.log()[:, None]
        broad = -0.5 * ((z - self.mean) @ whiten).square().sum(-1) - log_volume
        prior = -0.5 * z.square().sum(-1)
        shares = (1 - self.prior_share - self.broad_share, self.broad_share, self.prior_share)
        parts = [each + math.log(share) for each, share in zip((kernels, broad, prior), shares, strict=True)]
        mixed: Tensor = torch.stack(parts).logsumexp(0) - 0.5 * d * math.log(2 * math.pi)
        return mixed

    def draw(self, keys: Tensor) -> Tensor:
        """keys (B, n) → (B, n, d)"""
        d = self.centres.shape[-1]
        which = uniform(fold(keys, KERNEL), 1)[..., 0]
        special = self.prior_share + self.broad_share
        kernel = ((which - special) / (1 - special)).clamp(min=0) * self.centres.shape[1]
        noise = normal(fold(keys, NOISE), d)
        spread = noise @ self.factor.mT
        near = self.centres.gather(1, kernel.long()[..., None].expand(-1, -1, d))
        drawn = torch.where((which < special)[..., None], self.mean + spread, near + self.width[:, None, None] * spread)
        return torch.where((which < self.prior_share)[..., None], noise, drawn)


class Half(NamedTuple):
    """Half of the draws of B images, and the proposals that they came from."""

    position: Tensor  # (B, n, d)
    log_likelihood: Tensor  # (B, n)
    record: Tensor  # (B, n, r)
    log_prior: Tensor  # (B, n)
    log_proposals: Tensor  # (B, n) log Σ_r n_r q_r
    rounds: tuple[tuple[Mixture, int], ...]
    first: int  # draws from the prior

    @property
    def log_weight(self) -> Tensor:
        return self.log_likelihood + self.log_prior - self.log_proposals

    def drawn(self, target: Target, mixture: Mixture, keys: Tensor) -> Half:
        """With the draws of one more round, all weighted anew. keys (B, n)"""
        position, count = mixture.draw(keys), keys.shape[1]
        seen, log_prior = target.look(position), standard_normal(position)
        log_proposals = log_prior + math.log(self.first)
        for earlier, size in self.rounds:
            log_proposals = torch.logaddexp(log_proposals, earlier.log_density(position) + math.log(size))
        together = torch.cat((self.position, position), 1)
        log_proposals = torch.logaddexp(
            torch.cat((self.log_proposals, log_proposals), 1), mixture.log_density(together) + math.log(count)
        )
        return Half(
            together,
            torch.cat((self.log_likelihood, seen.log_likelihood), 1),
            torch.cat((self.record, seen.record), 1),
            torch.cat((self.log_prior, log_prior), 1),
            log_proposals,
            (*self.rounds, (mixture, count)),
            self.first,
        )


@register("adaptive")
@dataclass(frozen=True)
class Adaptive:
    """Weighted draws from a mixture that learns where the classifier breaks."""

    name: ClassVar[str] = "adaptive"
    space: ClassVar[Literal["latent", "parameters"]] = "latent"

    rounds: int = option(10, "how often the mixture is refitted")
    kernels: int = option(100, "kernels of a mixture")
    first: float = option(0.15, "share of the calls that the first round draws from the prior")
    prior: float = option(0.1, "share of every later round drawn from the prior, so that weights stay bounded")
    broad: float = option(0.4, "share of every later round drawn from one broad normal")

    def __post_init__(self) -> None:
        if self.rounds < 1 or self.kernels < 1:
            raise BrittleError("adaptive needs at least one round and one kernel", "Give whole numbers above 0.")
        for name in ("first", "prior", "broad"):
            if not 0 < getattr(self, name) < 1:
                raise BrittleError(f"option {name!r} is {getattr(self, name):g}", "It lies between 0 and 1.")
        if self.prior + self.broad >= 1:
            raise BrittleError("the shares 'prior' and 'broad' leave nothing to the kernels", "Make them smaller.")

    def check(self, target: Target) -> None:
        needs_gaussian(target, self.name)

    def sample(self, target: Target, budget: Budget) -> Sampled:
        self.check(target)
        begin = max(2, round(self.first * budget.calls), target.measured)
        start = target.prior(begin)
        halves = [
            Half(
                start.position[:, half::2],
                start.seen.log_likelihood[:, half::2],
                start.seen.record[:, half::2],
                log_prior := standard_normal(start.position[:, half::2]),
                log_prior + math.log(log_prior.shape[1]),
                (),
                log_prior.shape[1],
            )
            for half in (0, 1)
        ]
        left = max(0, budget.calls - start.calls)
        spent = 0
        for turn in range(self.rounds):
            count = left * (turn + 1) // self.rounds // 2 - spent
            spent += count
            if count:
                keys = [fold(fold(target.keys, turn + 1), half) for half in (0, 1)]
                fitted = [self._fitted(halves[1 - half], keys[half]) for half in (0, 1)]
                numbers = torch.arange(count, device=target.keys.device)
                halves = [
                    halves[half].drawn(target, fitted[half], fold(keys[half][:, None], numbers)) for half in (0, 1)
                ]
        log_weight = torch.cat([half.log_weight for half in halves], 1) - math.log(2)
        images = len(log_weight)
        return Sampled(
            torch.cat([half.position for half in halves], 1)[:, None].float(),
            log_weight[:, None],
            torch.cat([half.log_likelihood for half in halves], 1)[:, None],
            torch.cat([half.record for half in halves], 1)[:, None],
            torch.full((images,), start.calls + 2 * spent, device=log_weight.device),
            torch.full((images,), math.nan, dtype=torch.float64, device=log_weight.device),
            (self.name,) * images,
            chains=False,
            evidence=log_weight.logsumexp(1),
        )

    def _fitted(self, half: Half, keys: Tensor) -> Mixture:
        return fit(half.position, half.log_weight, keys, self.kernels, self.prior, self.broad)


def standard_normal(z: Tensor) -> Tensor:
    """log N(z; 0, I): (..., d) → (...)"""
    return -0.5 * z.square().sum(-1) - 0.5 * z.shape[-1] * math.log(2 * math.pi)


def fit(z: Tensor, log_weight: Tensor, keys: Tensor, kernels: int, prior_share: float, broad_share: float) -> Mixture:
    """The mixture at weighted draws z (B, N, d): centres drawn by weight, width by leave-one-out likelihood."""
    d = z.shape[-1]
    weight = tempered(log_weight, 2.0 * (d + 1))
    mean = (weight[..., None] * z).sum(1, keepdim=True)
    off = z - mean
    eye = torch.eye(d, dtype=z.dtype, device=z.device)
    # Few draws say little of a covariance: it is drawn towards the prior's.
    share = (d / (d + 1 / weight.square().sum(-1)))[:, None, None]
    spread = (1 - share) * (weight[..., None] * off).mT @ off + (share + 1e-9) * eye
    lost = (log_weight == -torch.inf).all(1)
    factor = torch.where(lost[:, None, None], WIDE * eye, torch.linalg.cholesky(spread))
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
    return Mixture(centres, mean, factor, width, prior_share, broad_share)


def tempered(log_weight: Tensor, least: float) -> Tensor:
    """Normalised weights (B, N), raised to the greatest power up to 1 whose Kish size is at least `least`."""
    above = log_weight - log_weight.amax(-1, keepdim=True).nan_to_num(neginf=0.0)

    def shares(power: Tensor) -> tuple[Tensor, Tensor]:
        # 0 · −∞ would be NaN: what is impossible stays so at every power.
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
