"""Whether an image's weak points can be trusted, and what they say beside the draws themselves."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, get_type_hints

import pyarrow as pa
import torch
from torch import Tensor

from brittle.measures.weak_points.posterior import Posterior
from brittle.random import fold
from brittle.samplers.diagnostics import bulk_ess, family_ess, family_kish, kish, pareto_k, split_rhat, weighted_ess
from brittle.samplers.target import PosteriorDraws
from brittle.types import ReadableTheta

GREATEST_RHAT = 1.05
GREATEST_K = 0.7  # beyond it the largest weights rule (Vehtari, Simpson, Gelman, Yao & Gabry 2024)
FEWEST = 25  # effective draws; ancestors, where draws descend from some
MOST_JUDGED = 64  # parameters whose mixing is looked at, evenly spread over θ
PRIOR_DRAWS = 512
TRUSTED, NOTHING, NOT_MIXED, WEIGHTS, FEW = "trusted", "nothing found", "not mixed", "weights not trusted", "too few"
ANCESTORS = "too few ancestors"  # the draws may do, but 1 − µ and separate regions rest on what they descend from
MAY_MISS = "may miss others"  # failures are rarer than what draws from the prior are sure to meet
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
    least_met: float | None = None  # share of the prior from which failures would have been met, with probability 0.95

    @property
    def trusted(self) -> bool:
        return self.status == TRUSTED


_NUMBERS = pa.list_(pa.float64())
_STORED = {int: pa.int64(), str: pa.string(), float: pa.float64(), list[float]: _NUMBERS, list[float | None]: _NUMBERS}
# Diagnoses as a table: a row per image.
DIAGNOSIS = pa.schema(
    (name, next(stored for kind, stored in _STORED.items() if hint in (kind, kind | None)))
    for name, hint in get_type_hints(Diagnosis).items()
)


def judged(count: int) -> Tensor:
    """Places of the parameters that are looked at."""
    return torch.linspace(0, count - 1, min(count, MOST_JUDGED)).round().long()


class ParameterMoments(NamedTuple):
    """Means and standard deviations (B, p) of the parameters: θ's own, and then those that it is told in."""

    mean: Tensor
    deviation: Tensor
    prior_mean: Tensor
    prior_deviation: Tensor

    @classmethod
    def of(cls, moving: Tensor, share: Tensor, prior: Tensor) -> ParameterMoments:
        """Draws (B, N, p) with their weights (B, N), and draws of the prior (B, m, p)."""
        mean = (share[..., None] * moving).sum(1)
        deviation = (share[..., None] * (moving - mean[:, None]).square()).sum(1).sqrt()
        return cls(mean, deviation, prior.mean(1), prior.std(1))

    def at(self, image: int) -> dict[str, Any]:
        return {name: values[image].tolist() for name, values in self._asdict().items()}


class DrawQuality(NamedTuple):
    """How far the draws of B images can be trusted, for q parameters of θ and in all."""

    effective: Tensor  # (B, q) draws; NaN where a parameter does not vary in the prior
    rhat: Tensor  # (B, q) of chains; NaN throughout for a population
    size: Tensor | None = None  # (B,) Kish's, of a population
    pareto_k: Tensor | None = None  # (B,) of a population's weights; NaN where these are bounded
    descend: bool = False  # whether `size` counts ancestors

    @classmethod
    def of(cls, sampled: PosteriorDraws, looked: Tensor, varies: Tensor) -> DrawQuality:
        """Draws (B, n, s, q), and which parameters vary in the prior (B, q)."""
        if sampled.chains:
            by_parameter = looked.permute(0, 3, 1, 2)
            effective, rhat = bulk_ess(by_parameter), split_rhat(by_parameter)
            return cls(effective.where(varies, torch.nan), rhat.where(varies, torch.nan))
        flat, log_weight = looked.flatten(1, 2), sampled.log_weight.flatten(1)
        if sampled.families is None:
            size = kish(log_weight)
            effective = torch.minimum(weighted_ess(flat, log_weight), size[:, None])
        else:
            families = sampled.families.flatten(1)
            size = family_kish(log_weight, families)
            effective = family_ess(flat, log_weight, families)
        weights = pareto_k(log_weight)
        # k̂ looks for weights of infinite variance. Weights of at most 1 have a finite one, and Kish's size is honest.
        if sampled.bounded is not None:
            weights = weights.masked_fill(sampled.bounded, torch.nan)
        effective = effective.where(varies, torch.nan)
        return cls(effective, torch.full_like(effective, math.nan), size, weights, sampled.families is not None)

    def at(self, image: int, found: bool) -> dict[str, Any]:
        k = math.nan if self.pareto_k is None else float(self.pareto_k[image])
        return {
            "effective": _least(self.effective[image]) if found else 0.0,
            "rhat": _greatest(self.rhat[image]) if found else None,
            "kish": None if self.size is None else float(self.size[image]),
            "pareto_k": None if math.isnan(k) or not found else k,
            "parameter_effective": [_number(value) for value in self.effective[image]],
            "parameter_rhat": [_number(value) for value in self.rhat[image]],
        }

    def ancestors(self, image: int) -> float | None:
        return float(self.size[image]) if self.descend and self.size is not None else None


class MostProbable(NamedTuple):
    """Of B images the draw of another label with the greatest prior density."""

    place: Tensor  # (B,) among the draws
    log_prior: Tensor  # (B,) −∞ where there is none

    @classmethod
    def of(cls, other: Tensor, log_prior: Tensor) -> MostProbable:
        """Whether draws (B, N) have another label, and their density (B, N)."""
        density = torch.where(other, log_prior, -torch.inf)
        place = density.argmax(1)
        return cls(place, density.gather(1, place[:, None])[:, 0])

    def at(self, image: int, theta: Tensor, predicted: Tensor) -> dict[str, Any]:
        """θ (B, N, d) and the predicted label (B, N) there."""
        if not self.log_prior[image] > -torch.inf:
            return {"smallest": None, "smallest_log_prior": None, "smallest_predicted": None}
        return {
            "smallest": theta[image, self.place[image]].tolist(),
            "smallest_log_prior": float(self.log_prior[image]),
            "smallest_predicted": int(predicted[image, self.place[image]]),
        }


def diagnose(
    posterior: Posterior, sampled: PosteriorDraws, theta: Tensor, log_prior: Tensor, predicted: Tensor
) -> list[Diagnosis]:
    """θ (B, n, s, d) with its prior density and predicted label (B, n, s) → a diagnosis per image."""
    places = judged(theta.shape[-1]).to(theta.device)
    numbers = torch.arange(PRIOR_DRAWS, device=theta.device)
    drawn = posterior.nuisance.sample(posterior.batch, fold(posterior.prior_keys[:, None], numbers)).double()
    log_weight, flat, labels = sampled.log_weight.flatten(1), theta.flatten(1, 2), predicted.flatten(1)
    share, other = _shares(log_weight), (labels != posterior.labels[:, None]) & (log_weight > -torch.inf)
    moving, prior = (_with_readings(posterior, each, places) for each in (flat.double(), drawn))
    moments = ParameterMoments.of(moving, share, prior)
    quality = DrawQuality.of(sampled, theta[..., places].double(), drawn[..., places].std(1) > 1e-12)
    smallest = MostProbable.of(other, log_prior.flatten(1))
    diagnoses = []
    for image, found in enumerate(sampled.found.tolist()):
        trust, met = quality.at(image, found), bool(other[image].any())
        calls = int(sampled.calls[image])
        evidence = None if sampled.evidence is None else float(sampled.evidence[image].exp())
        least = None if sampled.from_prior is None else least_met(int(sampled.from_prior[image]))
        diagnoses.append(
            Diagnosis(
                image=int(posterior.batch.ids[image]),
                method=sampled.method[image],
                status=image_status(
                    found,
                    met,
                    sampled.chains,
                    trust["effective"],
                    trust["rhat"],
                    trust["pareto_k"],
                    quality.ancestors(image),
                    evidence is not None and least is not None and evidence < least,
                ),
                calls=calls,
                per_1000=1000 * trust["effective"] / max(1, calls),
                acceptance=_number(sampled.acceptance[image]),
                one_minus_mu=None if posterior.failing else evidence,
                wrong_share=evidence if posterior.failing else None,
                least_met=least,
                another_label=float((share[image] * other[image]).sum()) if found else None,
                **trust,
                **moments.at(image),
                **smallest.at(image, flat, labels),
            )
        )
    return diagnoses


def _shares(log_weight: Tensor) -> Tensor:
    """Weights (B, N) that sum to 1; 0 where there is no draw."""
    share = (log_weight - log_weight.amax(1, keepdim=True).nan_to_num(neginf=0.0)).exp()
    return share / share.sum(1, keepdim=True).clamp(min=1e-300)


def _with_readings(posterior: Posterior, theta: Tensor, places: Tensor) -> Tensor:
    """θ (B, n, d) → the numbers that are looked at, and after them those that θ can be told in."""
    space, own = posterior.nuisance, theta[..., places]
    if not isinstance(space, ReadableTheta):
        return own
    height, width = posterior.batch.images.shape[-2:]
    return torch.cat((own, space.read_theta(theta, height, width).to(own)), -1)


def image_status(
    found: bool,
    other: bool,
    chains: bool,
    effective: float,
    rhat: float | None,
    k: float | None,
    ancestors: float | None = None,
    rare: bool = False,
) -> str:
    """The status of an image whose draws do or don't have another label than ℓ somewhere, and whose failures are or
    are not rarer than what would have been met."""
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
    if ancestors is not None and ancestors < FEWEST:
        return ANCESTORS
    return MAY_MISS if rare else TRUSTED


def least_met(draws: int) -> float:
    """The rule of three: an island of failures with a share s of the prior escapes n draws from it with probability
    (1 − s)ⁿ, which is 0.05 at about 3 / n. Draws of a proposal that was fitted to another island never get there."""
    return min(1.0, 3 / max(1, draws))


def _number(value: Tensor) -> float | None:
    return float(value) if value.isfinite() else None


def _least(values: Tensor) -> float:
    known = values[~values.isnan()]
    return float(known.min()) if len(known) else 0.0


def _greatest(values: Tensor) -> float | None:
    known = values[~values.isnan()]
    return float(known.max()) if len(known) and known.max().isfinite() else None
