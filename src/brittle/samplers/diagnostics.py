"""Whether draws can be trusted: R-hat and effective sizes of chains, Kish sizes and k-hat of weighted draws.

Chains are judged as in Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021), "Rank-normalization, folding, and
localization", and weights as in Vehtari, Simpson, Gelman, Yao & Gabry (2024), "Pareto smoothed importance sampling".
ArviZ computes the same numbers one array at a time; here all images and parameters are done at once. The two differ
only where ArviZ would rate draws highly that say nothing, and each function says where. Everything is float64.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

FEWEST_STEPS = 4  # two per half-chain
FEWEST_IN_TAIL = 5
ROUNDING = 1e-12  # of log-weights that are meant to be equal


def split_rhat(draws: Tensor) -> Tensor:
    """Rank-normalised split R-hat, the larger of bulk and folded: draws (..., chains, steps) → (...).

    A single chain is compared with itself, half against half. If no half-chain ever moved, R-hat is NaN if all are at
    the same value and infinite if they are at different ones. It is also NaN with fewer than 4 steps or if any draw is
    NaN.
    """
    draws = draws.to(torch.float64)
    if draws.shape[-1] < FEWEST_STEPS:
        return torch.full_like(draws[..., 0, 0], torch.nan)
    halves = _split(draws)
    folded = (halves - _median(halves)).abs()
    # The folded value is NaN for two values equally far from the median: only the bulk can tell them apart.
    worse = torch.fmax(_rhat(_normal_scores(halves)), _rhat(_normal_scores(folded)))
    return worse.masked_fill(draws.isnan().any(-1).any(-1), torch.nan)


def bulk_ess(draws: Tensor) -> Tensor:
    """Rank-normalised split-chain effective size: draws (..., chains, steps) → (...).

    Draws that are all equal are a single point and count as 1 (ArviZ: the number of draws). NaN with fewer than 4
    steps or if any draw is NaN.
    """
    draws = draws.to(torch.float64)
    if draws.shape[-1] < FEWEST_STEPS:
        return torch.full_like(draws[..., 0, 0], torch.nan)
    halves = _split(draws)
    size = _ess(_normal_scores(halves)).masked_fill(_constant(halves), 1.0)
    return size.masked_fill(draws.isnan().any(-1).any(-1), torch.nan)


def tail_ess(draws: Tensor) -> Tensor:
    """The smaller effective size of I(θ ≤ its 5 % quantile) and I(θ ≤ its 95 % quantile): (..., chains, steps) → (...).

    A quantile between two equal draws is that draw, as in R; ArviZ's may lie a rounding error below it. If all
    draws are on one side of a quantile, because of ties or too few steps, the other quantile decides. If that is so
    for both, the tails were not reached and the size is 1 (ArviZ: the number of draws). NaN as for `bulk_ess`.
    """
    draws = draws.to(torch.float64)
    if draws.shape[-1] < FEWEST_STEPS:
        return torch.full_like(draws[..., 0, 0], torch.nan)
    quantiles = _quantiles(draws, torch.tensor([0.05, 0.95], dtype=torch.float64, device=draws.device))
    below = _split((draws.unsqueeze(-3) <= quantiles[..., None, None]).to(torch.float64))  # (..., 2, 2 chains, half)
    blind = _constant(below)
    sizes = torch.where(blind, float(below.shape[-2] * below.shape[-1]), _ess(below))
    return sizes.amin(-1).masked_fill(blind.all(-1), 1.0).masked_fill(draws.isnan().any(-1).any(-1), torch.nan)


def kish(log_weights: Tensor) -> Tensor:
    """Kish's effective size (Σ w)² / Σ w²: log-weights (..., n) → (...). 0 if every weight is 0."""
    return _kish(_normalised(log_weights))


def family_kish(log_weights: Tensor, families: Tensor) -> Tensor:
    """Kish's size of families (..., n): draws with the same number count as one, with the sum of their weights.

    In a population of particles, families are the first ancestors, and only those are independent (Lee & Whiteley
    2018).
    """
    return _kish(_family_sums(_normalised(log_weights), families))


def weighted_ess(values: Tensor, log_weights: Tensor, families: Tensor | None = None) -> Tensor:
    """Effective size for the mean of each parameter: values (..., n, d), log-weights (..., n) → (..., d).

    Σ W (f − f̄)² / Σ W² (f − f̄)² with W normalised; with families (..., n) the denominator sums W (f − f̄) within a
    family before squaring (Lee & Whiteley 2018). Never more than the number of draws, or families, of positive weight.
    If one of them holds more than half of the weight, f̄ follows it and the ratio would hide the collapse, so it is
    capped at Kish's size. 1 if a parameter has only one value; 0 if every weight is 0.
    """
    share = _normalised(log_weights).unsqueeze(-2)  # (..., 1, n)
    alive = share > 0
    f = values.to(torch.float64).transpose(-1, -2).where(alive, 0.0)
    deviation = f - (share * f).sum(-1, keepdim=True)
    parts, held = share * deviation, share
    if families is not None:
        parts, held = _family_sums(parts, families.unsqueeze(-2)), _family_sums(held, families.unsqueeze(-2))
    size = (share * deviation.square()).sum(-1) / parts.square().sum(-1)
    most = torch.where(held.amax(-1) > 0.5, _kish(held), (held > 0).sum(-1).to(torch.float64))
    still = f.masked_fill(~alive, -torch.inf).amax(-1) == f.masked_fill(~alive, torch.inf).amin(-1)
    return torch.minimum(size, most).masked_fill(still, 1.0).masked_fill(~alive.any(-1), 0.0)


def family_ess(values: Tensor, log_weights: Tensor, families: Tensor) -> Tensor:
    """`weighted_ess` of families (..., n) whose draws have moved on since they parted: values (..., n, d) → (..., d).

    Draws that were copies once and moved apart count as several, so that the number of families is not a bound. But the
    denominator is a sum over K families (Kish's size of them), and so the ratio is known to a factor of 1 ± √(2/K): its
    lower end, if that is more than `weighted_ess`, and at most Kish's size of the draws.
    """
    share = _normalised(log_weights).unsqueeze(-2)
    f = values.to(torch.float64).transpose(-1, -2).where(share > 0, 0.0)
    deviation = f - (share * f).sum(-1, keepdim=True)
    held, parts = (_family_sums(each, families.unsqueeze(-2)) for each in (share, share * deviation))
    size = (share * deviation.square()).sum(-1) / parts.square().sum(-1)
    lower = size * (1 - (2 / _kish(held)).sqrt())
    lower = torch.where(held.amax(-1) <= 0.5, lower.nan_to_num(0.0), 0.0)
    return torch.maximum(weighted_ess(values, log_weights, families), torch.minimum(lower, _kish(share)))


def pareto_k(log_weights: Tensor) -> Tensor:
    """k-hat, the shape of a generalised Pareto fit to the largest weights: log-weights (..., n) → (...).

    Above 0.7 a weighted mean should not be trusted. Infinite if fewer than 5 draws stand out as a tail, which is always
    so for n ≤ 20, or if all weights are 0. There is one special case: if the tail and the draw next to it all share the
    largest weight, as when weights are equal, there is no heavy tail and k is 0 (ArviZ: infinite).
    """
    x = log_weights.to(torch.float64)
    n = x.shape[-1]
    longest = math.ceil(min(n / 5, 3 * math.sqrt(n)))
    if longest < FEWEST_IN_TAIL:
        return torch.full_like(x[..., 0], torch.inf)
    largest = (x - x.amax(-1, keepdim=True)).topk(longest + 1, dim=-1).values
    cutoff = largest[..., -1:].clamp(min=math.log(torch.finfo(torch.float64).tiny))
    tail = largest[..., :-1]
    size = (tail > cutoff).sum(-1)
    k = _pareto_shape(torch.where(tail > cutoff, tail.exp() - cutoff.exp(), 0.0), size)
    k = torch.where((size >= FEWEST_IN_TAIL) & k.isfinite(), k, torch.inf)
    return k.masked_fill(largest[..., -1] > -ROUNDING, 0.0).masked_fill(x.isnan().any(-1), torch.nan)


def _split(draws: Tensor) -> Tensor:
    """(..., chains, steps) → (..., 2 · chains, steps // 2); the middle draw of an odd number is dropped."""
    half = draws.shape[-1] // 2
    return torch.cat([draws[..., :half], draws[..., -half:]], -2)


def _constant(x: Tensor) -> Tensor:
    flat = x.flatten(-2)
    return flat.amax(-1) == flat.amin(-1)


def _median(x: Tensor) -> Tensor:
    ordered = x.flatten(-2).sort(-1).values
    count = ordered.shape[-1]
    return ((ordered[..., (count - 1) // 2] + ordered[..., count // 2]) / 2)[..., None, None]


def _quantiles(x: Tensor, probabilities: Tensor) -> Tensor:
    """Type 7 quantiles (..., q) over the last two dimensions of x; between ties, exactly the tied value."""
    ordered = x.flatten(-2).sort(-1).values
    place = probabilities * (ordered.shape[-1] - 1)
    low = place.floor().long()
    under, over = ordered[..., low], ordered[..., (low + 1).clamp(max=ordered.shape[-1] - 1)]
    return under + torch.where(over == under, 0.0, (place - low) * (over - under))


def _normal_scores(x: Tensor) -> Tensor:
    """Average ranks over the last two dimensions, as normal scores with Blom's offset."""
    ordered, order = x.flatten(-2).contiguous().sort(-1)
    ordered = ordered.contiguous()
    before, until = torch.searchsorted(ordered, ordered), torch.searchsorted(ordered, ordered, right=True)
    rank = torch.empty_like(ordered).scatter_(-1, order, (before + until + 1).to(torch.float64) / 2)
    scores: Tensor = torch.special.ndtri((rank - 3 / 8) / (rank.shape[-1] + 1 / 4))
    return scores.view(x.shape)


def _rhat(x: Tensor) -> Tensor:
    # Taking differences from each chain's first value makes the variance of a chain that never moved exactly 0.
    moved = x - x[..., :1]
    steps = x.shape[-1]
    within = moved.var(-1).mean(-1)
    means = x[..., 0] + moved.mean(-1)
    between = steps * (means - means[..., :1]).var(-1)
    return ((between / within + steps - 1) / steps).sqrt()


def _autocovariance(x: Tensor) -> Tensor:
    steps = x.shape[-1]
    padded = 1 << (2 * steps - 1).bit_length()
    spectrum: Tensor = torch.fft.rfft(x - x.mean(-1, keepdim=True), n=padded)
    products: Tensor = torch.fft.irfft(spectrum.abs().square(), n=padded)
    return products[..., :steps] / steps


def _ess(x: Tensor) -> Tensor:
    """Effective size of x (..., chains, steps) by Geyer's initial monotone sequence, with several chains."""
    chains, steps = x.shape[-2:]
    covariance = _autocovariance(x).mean(-2)
    within = covariance[..., :1] * steps / (steps - 1)
    total = covariance[..., :1] + x.mean(-1).var(-1).unsqueeze(-1)
    rho = 1 - (within - covariance) / total
    rho[..., 0] = 1.0
    pairs = rho[..., : steps // 2 * 2 : 2] + rho[..., 1::2]
    # Geyer's sequence ends at the first pair that is not positive; the rest is made monotone.
    most = max(0, (steps - 3) // 2)
    positive = (pairs[..., :most] > 0).long().cumprod(-1)
    end = positive.sum(-1, keepdim=True)
    monotone = (pairs[..., : most + 1].cummin(-1).values[..., :most] * positive).sum(-1)
    even, pair = rho.gather(-1, 2 * end)[..., 0], pairs.gather(-1, end)[..., 0]
    tau = 2 * monotone - 1 + torch.where((even > 0) | (pair >= 0), even, 0.0)
    return chains * steps / tau.clamp(min=1 / math.log10(chains * steps))


def _normalised(log_weights: Tensor) -> Tensor:
    """Weights that sum to 1, or are all 0."""
    x = log_weights.to(torch.float64)
    return x.softmax(-1).masked_fill((x == -torch.inf).all(-1, keepdim=True), 0.0)


def _kish(share: Tensor) -> Tensor:
    squares = share.square().sum(-1)
    return torch.where(squares == 0, 0.0, 1 / squares)


def _family_sums(x: Tensor, families: Tensor) -> Tensor:
    """Sums of x (..., n) over draws of the same family, whatever its number: (..., n), padded with 0."""
    members, order = families.expand_as(x).sort(-1)
    place = (members.diff(dim=-1, prepend=members[..., :1]) != 0).cumsum(-1)
    return torch.zeros_like(x).scatter_add_(-1, place, x.gather(-1, order))


def _pareto_shape(excess: Tensor, size: Tensor) -> Tensor:
    """Zhang & Stephens (2009) on excesses (..., m) that are 0 after the first `size` (...), shrunk towards 1/2."""
    count = size.to(torch.float64).unsqueeze(-1)
    grid = 30 + count.sqrt().floor()
    j = torch.arange(1, 31 + math.isqrt(excess.shape[-1]), dtype=torch.float64, device=excess.device)
    quartile = (size - (size + 2) // 4).clamp(0, excess.shape[-1] - 1)
    b = (1 - (grid / (j - 0.5)).sqrt()) / (3 * excess.gather(-1, quartile.unsqueeze(-1))) + 1 / excess[..., :1]
    k = torch.log1p(-b.unsqueeze(-1) * excess.unsqueeze(-2)).sum(-1) / count
    profile = count * ((-b / k).log() - k - 1)
    weight = profile.masked_fill(j > grid, -torch.inf).softmax(-1)
    weight = torch.where(weight >= 10 * torch.finfo(torch.float64).eps, weight, 0.0)
    b_mean = (weight * b).sum(-1, keepdim=True) / weight.sum(-1, keepdim=True)
    shape = torch.log1p(-b_mean * excess).sum(-1, keepdim=True) / count
    # The prior on k: equivalent to ten draws at 1/2.
    return ((count * shape + 10 * 0.5) / (count + 10)).squeeze(-1)
