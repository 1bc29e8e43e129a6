"""Whether an image's weak points can be trusted, and what they say beside the draws themselves."""

from __future__ import annotations

import math
from typing import NamedTuple

import pyarrow as pa
import torch
from torch import Tensor

from brittle.measures.weak_points.posterior import Posterior
from brittle.random import fold
from brittle.samplers.diagnostics import bulk_ess, family_ess, family_kish, kish, pareto_k, split_rhat, weighted_ess
from brittle.samplers.target import PosteriorDraws
from brittle.types import Told

GREATEST_RHAT = 1.05
GREATEST_K = 0.7  # beyond it the largest weights rule (Vehtari, Simpson, Gelman, Yao & Gabry 2024)
FEWEST = 25  # effective draws; ancestors, where draws descend from some
MOST_JUDGED = 64  # parameters whose mixing is looked at, evenly spread over θ
PRIOR_DRAWS = 512
TRUSTED, NOTHING, NOT_MIXED, WEIGHTS, FEW = "trusted", "nothing found", "not mixed", "weights not trusted", "too few"
ANCESTORS = "too few ancestors"  # the draws may do, but 1 − µ and separate regions rest on what they descend from
NO_OTHER_LABEL = "no other label"  # p(not ℓ) is above zero, but no draw is taken for anything else


class Diagnosis(NamedTuple):
    """One image."""

    image: int  # its id
    method: str
    status: str  # TRUSTED or what is wrong
    calls: int
    effective: float  # the least effective size over parameters
    per_1000: float  # effective draws per 1,000 classifier calls
    acceptance: float | None
    rhat: float | None  # the greatest over parameters
    kish: float | None
    pareto_k: float | None
    one_minus_mu: float | None  # estimate of 1 − µ(x), where the sampler gives one
    another_label: float | None  # share of the posterior whose predicted label is not ℓ
    parameter_effective: list[float | None]
    parameter_rhat: list[float | None]
    mean: list[float]  # of the posterior
    deviation: list[float]
    prior_mean: list[float]
    prior_deviation: list[float]
    smallest: list[float] | None  # the θ of another label with the greatest prior density
    smallest_log_prior: float | None
    smallest_predicted: int | None
    wrong_share: float | None = None  # of the prior's θ: the prediction is another label; only where these are sampled

    @property
    def trusted(self) -> bool:
        return self.status == TRUSTED


_NUMBERS = pa.list_(pa.float64())
# Diagnoses as a table: a row per image.
DIAGNOSIS = pa.schema(
    {
        "image": pa.int64(),
        "method": pa.string(),
        "status": pa.string(),
        "calls": pa.int64(),
        "effective": pa.float64(),
        "per_1000": pa.float64(),
        "acceptance": pa.float64(),
        "rhat": pa.float64(),
        "kish": pa.float64(),
        "pareto_k": pa.float64(),
        "one_minus_mu": pa.float64(),
        "another_label": pa.float64(),
        "parameter_effective": _NUMBERS,
        "parameter_rhat": _NUMBERS,
        "mean": _NUMBERS,
        "deviation": _NUMBERS,
        "prior_mean": _NUMBERS,
        "prior_deviation": _NUMBERS,
        "smallest": _NUMBERS,
        "smallest_log_prior": pa.float64(),
        "smallest_predicted": pa.int64(),
        "wrong_share": pa.float64(),
    }
)


def judged(count: int) -> Tensor:
    """Places of the parameters that are looked at."""
    return torch.linspace(0, count - 1, min(count, MOST_JUDGED)).round().long()


def diagnose(
    posterior: Posterior, sampled: PosteriorDraws, theta: Tensor, log_prior: Tensor, predicted: Tensor
) -> list[Diagnosis]:
    """θ (B, n, s, d) with its prior density and predicted label (B, n, s) → a diagnosis per image."""
    places = judged(theta.shape[-1]).to(theta.device)
    looked = theta[..., places].double()
    numbers = torch.arange(PRIOR_DRAWS, device=theta.device)
    drawn = posterior.nuisance.sample(posterior.batch, fold(posterior.prior_keys[:, None], numbers)).double()
    varies = drawn[..., places].std(1) > 1e-12
    log_weight = sampled.log_weight.flatten(1)
    share = (log_weight - log_weight.amax(1, keepdim=True).nan_to_num(neginf=0.0)).exp()
    share = share / share.sum(1, keepdim=True).clamp(min=1e-300)
    flat, moving = looked.flatten(1, 2), _with_told(posterior, theta.double().flatten(1, 2), places)
    mean = (share[..., None] * moving).sum(1)
    deviation = (share[..., None] * (moving - mean[:, None]).square()).sum(1).sqrt()
    prior = _with_told(posterior, drawn, places)
    prior_mean, prior_deviation = prior.mean(1), prior.std(1)
    if sampled.chains:
        by_parameter = looked.permute(0, 3, 1, 2)
        effective, rhat = bulk_ess(by_parameter), split_rhat(by_parameter)
        weights = size = None
    else:
        families = None if sampled.families is None else sampled.families.flatten(1)
        if families is None:
            size = kish(log_weight)
            effective = torch.minimum(weighted_ess(flat, log_weight), size[:, None])
        else:
            size = family_kish(log_weight, families)
            effective = family_ess(flat, log_weight, families)
        rhat, weights = torch.full_like(effective, math.nan), pareto_k(log_weight)
        # k̂ looks for weights of infinite variance. Weights of at most 1 have a finite one, and Kish's size is honest.
        if sampled.bounded is not None:
            weights = weights.masked_fill(sampled.bounded, torch.nan)
    effective = effective.where(varies, torch.nan)
    rhat = rhat.where(varies, torch.nan)
    other = (predicted != posterior.labels[:, None, None]).flatten(1) & (log_weight > -torch.inf)
    density = torch.where(other, log_prior.flatten(1), -torch.inf)
    best = density.argmax(1)
    found = sampled.found
    descend = not sampled.chains and sampled.families is not None
    ancestors = size.tolist() if descend and size is not None else [None] * len(theta)
    diagnoses = []
    for image in range(len(theta)):
        least = _least(effective[image]) if found[image] else 0.0
        worst = _greatest(rhat[image]) if sampled.chains and found[image] else None
        k = None if weights is None or not found[image] or weights[image].isnan() else float(weights[image])
        small = bool(other[image].any()) and bool(density[image, best[image]] > -torch.inf)
        calls = int(sampled.calls[image])
        evidence = None if sampled.evidence is None else float(sampled.evidence[image].exp())
        diagnoses.append(
            Diagnosis(
                image=int(posterior.batch.ids[image]),
                method=sampled.method[image],
                status=judge(
                    bool(found[image]), bool(other[image].any()), sampled.chains, least, worst, k, ancestors[image]
                ),
                calls=calls,
                effective=least,
                per_1000=1000 * least / max(1, calls),
                acceptance=_number(sampled.acceptance[image]),
                rhat=worst,
                kish=None if size is None else float(size[image]),
                pareto_k=k,
                one_minus_mu=None if posterior.failing else evidence,
                another_label=float((share[image] * other[image]).sum()) if found[image] else None,
                parameter_effective=[_number(value) for value in effective[image]],
                parameter_rhat=[_number(value) for value in rhat[image]],
                mean=mean[image].tolist(),
                deviation=deviation[image].tolist(),
                prior_mean=prior_mean[image].tolist(),
                prior_deviation=prior_deviation[image].tolist(),
                smallest=theta[image].flatten(0, 1)[best[image]].tolist() if small else None,
                smallest_log_prior=float(density[image, best[image]]) if small else None,
                smallest_predicted=int(predicted[image].flatten()[best[image]]) if small else None,
                wrong_share=evidence if posterior.failing else None,
            )
        )
    return diagnoses


def _with_told(posterior: Posterior, theta: Tensor, places: Tensor) -> Tensor:
    """θ (B, n, d) → the numbers that are looked at, and after them those that θ can be told in."""
    space, own = posterior.nuisance, theta[..., places]
    if not isinstance(space, Told):
        return own
    height, width = posterior.batch.images.shape[-2:]
    return torch.cat((own, space.tell(theta, height, width).to(own)), -1)


def judge(
    found: bool,
    other: bool,
    chains: bool,
    effective: float,
    rhat: float | None,
    k: float | None,
    ancestors: float | None = None,
) -> str:
    """The status of an image whose draws do or don't have another label than ℓ somewhere."""
    if not found:
        return NOTHING
    if not other:
        return NO_OTHER_LABEL
    if chains and (rhat is None or not rhat <= GREATEST_RHAT):
        return NOT_MIXED
    if k is not None and not k <= GREATEST_K:
        return WEIGHTS
    if effective < FEWEST:
        return FEW
    return TRUSTED if ancestors is None or ancestors >= FEWEST else ANCESTORS


def _number(value: Tensor) -> float | None:
    return float(value) if value.isfinite() else None


def _least(values: Tensor) -> float:
    known = values[~values.isnan()]
    return float(known.min()) if len(known) else 0.0


def _greatest(values: Tensor) -> float | None:
    known = values[~values.isnan()]
    return float(known.max()) if len(known) and known.max().isfinite() else None
