"""Adaptive importance sampling: proposals from a mixture of kernels at weighted draws, refitted as draws arrive.

Population Monte Carlo (Cappé, Guillin, Marin & Robert 2004) with deterministic-mixture weights (Veach & Guibas 1995;
Owen & Zhou 2000): draws of all rounds are weighted against the mixture of all proposals used so far,

    w(z) = p(not ℓ | z) p(z) / Σ_r (n_r / N) q_r(z),   q_r = δ p + (1 − δ) Σ_k N(c_k, h² S) / K

The first round is the prior itself, and a share δ of every other: no weight exceeds N over the number of draws that
came from the prior. While few draws matter, the fit uses their weights raised to a power below 1.
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
from brittle.samplers.target import Budget, Sampled, Target

ROUND, CENTRE, KERNEL, NOISE = 1, 2, 3, 4
WIDTHS = (0.25, 0.35, 0.5, 0.7, 1.0)  # h, in standard deviations of the weighted draws


class Mixture(NamedTuple):
    """Proposals of B images: a share of the prior N(0, I), the rest kernels N(c, h² S)."""

    centres: Tensor  # (B, K, d)
    factor: Tensor  # (B, d, d) lower triangular, factor factorᵀ = h² S
    prior_share: float

    def log_density(self, z: Tensor) -> Tensor:
        """(B, n, d) → (B, n)"""
        d = z.shape[-1]
        whiten = torch.linalg.inv(self.factor).mT
        a, b = z @ whiten, self.centres @ whiten
        squares = a.square().sum(-1)[..., None] + b.square().sum(-1)[:, None] - 2 * a @ b.mT
        log_volume = torch.diagonal(self.factor, dim1=-2, dim2=-1).log().sum(-1)
        kernels = (-0.5 * squares).logsumexp(-1) - math.log(self.centres.shape[1]) - log_volume[:, None]
        prior = -0.5 * z.square().sum(-1)
        both = torch.logaddexp(kernels + math.log(1 - self.prior_share), prior + math.log(self.prior_share))
        return both - 0.5 * d * math.log(2 * math.pi)

    def draw(self, keys: Tensor) -> Tensor:
        """keys (B, n) → (B, n, d)"""
        d = self.centres.shape[-1]
        picked = (uniform(fold(keys, KERNEL), 1)[..., 0] - self.prior_share) / (1 - self.prior_share)
        chosen = (picked.clamp(min=0) * self.centres.shape[1]).long()
        noise = normal(fold(keys, NOISE), d)
        near = self.centres.gather(1, chosen[..., None].expand(-1, -1, d)) + noise @ self.factor.mT
        return torch.where((picked < 0)[..., None], noise, near)


@register("adaptive")
@dataclass(frozen=True)
class Adaptive:
    """Weighted draws from a mixture that learns where the classifier breaks."""

    name: ClassVar[str] = "adaptive"
    space: ClassVar[Literal["latent", "parameters"]] = "latent"

    rounds: int = option(10, "how often the mixture is refitted")
    kernels: int = option(200, "kernels of a mixture")
    first: float = option(0.15, "share of the calls that the first round draws from the prior")
    prior: float = option(0.1, "share of every later round drawn from the prior, so that weights stay bounded")

    def check(self, target: Target) -> None:
        needs_gaussian(target, self.name)

    def sample(self, target: Target, budget: Budget) -> Sampled:
        self.check(target)
        total = budget.calls
        begin = max(1, min(total, round(self.first * total)))
        start = target.prior(begin)
        z, likelihood, record = start.position, start.seen.log_likelihood, start.seen.record
        log_p = -0.5 * z.square().sum(-1) - 0.5 * target.size * math.log(2 * math.pi)
        log_q = log_p + math.log(begin)  # log Σ_r n_r q_r at every draw
        mixtures: list[tuple[Mixture, int]] = []
        left = total - begin
        keys = fold(target.keys, ROUND)
        for turn in range(self.rounds):
            count = left // (self.rounds - turn)
            left -= count
            if count == 0:
                continue
            mixture = fit(z, likelihood + log_p - log_q, fold(keys, turn), self.kernels, self.prior)
            drawn = mixture.draw(fold(fold(keys, turn)[:, None], torch.arange(count, device=keys.device)))
            seen = target.look(drawn)
            log_p_new = -0.5 * drawn.square().sum(-1) - 0.5 * target.size * math.log(2 * math.pi)
            log_q_new = log_p_new + math.log(begin)
            for earlier, n in mixtures:
                log_q_new = torch.logaddexp(log_q_new, earlier.log_density(drawn) + math.log(n))
            z = torch.cat((z, drawn), 1)
            log_q = torch.logaddexp(torch.cat((log_q, log_q_new), 1), mixture.log_density(z) + math.log(count))
            log_p = torch.cat((log_p, log_p_new), 1)
            likelihood = torch.cat((likelihood, seen.log_likelihood), 1)
            record = torch.cat((record, seen.record), 1)
            mixtures.append((mixture, count))
        log_weight = likelihood + log_p - log_q
        images = len(z)
        return Sampled(
            z[:, None].float(),
            log_weight[:, None],
            likelihood[:, None],
            record[:, None],
            torch.full((images,), total - begin + start.calls, device=z.device),
            torch.full((images,), math.nan, device=z.device),
            (self.name,) * images,
            chains=False,
            evidence=log_weight.logsumexp(1),
        )


def fit(z: Tensor, log_weight: Tensor, keys: Tensor, kernels: int, prior_share: float) -> Mixture:
    """The mixture at weighted draws z (B, N, d): centres drawn by weight, width by leave-one-out likelihood."""
    d = z.shape[-1]
    weight = tempered(log_weight, 2.0 * (d + 1))
    mean = (weight[..., None] * z).sum(1, keepdim=True)
    off = z - mean
    spread = (weight[..., None] * off).mT @ off
    # Few draws say little of a covariance: it is drawn towards a multiple of the identity's diagonal.
    size = 1 / weight.square().sum(-1)
    share = (d / (d + size))[:, None, None]
    eye = torch.eye(d, dtype=z.dtype, device=z.device)
    spread = (1 - share) * spread + share * eye
    factor = torch.linalg.cholesky(spread + 1e-9 * eye)
    cumulative = weight.cumsum(-1)
    first = uniform(fold(keys, CENTRE), 1)
    ladder = (torch.arange(kernels, device=z.device) + first) / kernels
    places = torch.searchsorted(cumulative, ladder * cumulative[:, -1:]).clamp(max=z.shape[1] - 1)
    centres = z.gather(1, places[..., None].expand(-1, -1, d))
    whiten = torch.linalg.inv(factor).mT
    white = centres @ whiten
    squares = torch.cdist(white, white).square()
    same = places[:, :, None] == places[:, None, :]
    scores = torch.stack(
        [
            torch.where(same, -torch.inf, -0.5 * squares / h**2).logsumexp(-1).clamp(min=-700).mean(-1)
            - d * math.log(h)
            for h in WIDTHS
        ],
        -1,
    )
    h = torch.tensor(WIDTHS, dtype=z.dtype, device=z.device)[scores.argmax(-1)]
    return Mixture(centres, factor * h[:, None, None], prior_share)


def tempered(log_weight: Tensor, least: float) -> Tensor:
    """Normalised weights (B, N), raised to the greatest power up to 1 whose Kish size is at least `least`."""
    above = log_weight - log_weight.amax(-1, keepdim=True).nan_to_num(neginf=0.0)

    def shares(power: Tensor) -> tuple[Tensor, Tensor]:
        weight = torch.softmax(power * above, -1)
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
