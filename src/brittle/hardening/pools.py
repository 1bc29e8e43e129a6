"""Transformed training images for re-training a classifier: weak points of many images, or draws from the prior.

Weak points are drawn from q(x, θ) = p(x, θ | not ℓ) ∝ p(x) · p(θ | x) · p(not ℓ | T_θ x): an image appears as often as
the classifier fails on it, 1 − µ(x), and its θ are draws from the posterior p(θ | not ℓ, x). Nothing is thresholded: a
θ at which the label still wins appears with the probability that the other labels have there.

Trained only on those, a classifier learns that labels are often wrong, and its confidence falls. With a `prior` share
λ, draws come from m = λ p + (1 − λ) q, and each has the weight p / m = 1 / (λ + (1 − λ) p(not ℓ) / (1 − ρ)) in the
loss, whose mean is then that under the prior: the weak points only make its gradient less noisy (Katharopoulos &
Fleuret 2018).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.measures.answers import Answers
from brittle.measures.outcomes import Outcome
from brittle.measures.weak_points.posterior import Posterior
from brittle.random import draw_keys, fold, stream_root, uniform
from brittle.samplers import sampler as open_sampler
from brittle.samplers.target import Budget, PosteriorDraws
from brittle.training.data import TrainingImages
from brittle.types import Batch, Classifier, Nuisance

BLOCK_NUMBERS = 1 << 22  # of positions sampled at a time
KEPT_NUMBERS = 1 << 26  # of θ, for a whole pool
TINY = 1e-12  # least q / p
HARDENED = "hardened"  # what the one classifier is called here
KEPT, PICKED, ORDER = 1, 2, 3  # streams of a pool's randomness


class PoolBatch(NamedTuple):
    """Some transformed images of a pool."""

    rows: Tensor  # (k,) which training images
    theta: Callable[[Batch], Tensor]  # those images → θ (k, d)
    weight: Tensor  # (k,) in the loss


class Pool(Protocol):
    """Numbered transformed images, as many as a round of training needs."""

    def at(self, places: slice) -> PoolBatch: ...


@dataclass(frozen=True)
class PriorPool:
    """θ drawn from the prior, for images in a random order."""

    nuisance: Nuisance
    rows: Tensor  # (n,)
    keys: Tensor  # (n,)

    def at(self, places: slice) -> PoolBatch:
        rows = self.rows[places]
        return PoolBatch(
            rows,
            lambda batch: self.nuisance.sample(batch, self.keys[places, None])[:, 0],
            torch.ones(len(rows), device=rows.device),
        )


@dataclass(frozen=True)
class WeakPool:
    """θ that a sampler found, some of them used several times."""

    rows: Tensor  # (k,)
    theta: Tensor  # (k, d)
    picked: Tensor  # (n,) which of the k, in order of use
    weight: Tensor  # (n,)

    def at(self, places: slice) -> PoolBatch:
        picked = self.picked[places]
        return PoolBatch(
            self.rows[picked], lambda batch: self.theta[picked].to(batch.images.dtype), self.weight[places]
        )


class FilledPool(NamedTuple):
    """A pool, and what filling it took."""

    pool: Pool
    images: int  # whose weak points were sampled
    calls: int  # of the classifier
    failing: float | None = None  # mean over those images of the estimated 1 − µ(x)
    wrong: float | None = None  # share of the weak points at which another label wins


def prior_pool(nuisance: Nuisance, data: TrainingImages, count: int, seed: int, stream: str) -> FilledPool:
    """`count` images, all equally often, each with its own draw."""
    turns = torch.arange(-(-count // len(data)), device=data.device)
    keys = draw_keys(seed, stream, data.ids, turns)
    order = torch.argsort(fold(keys, ORDER), dim=0, stable=True)  # each column is a pass over the images
    rows = order.T.flatten()[:count]
    drawn = keys.T.gather(1, order.T).flatten()[:count]
    return FilledPool(PriorPool(nuisance, rows, fold(drawn, KEPT)), 0, 0)


def weak_pool(
    classifier: Classifier,
    nuisance: Nuisance,
    data: TrainingImages,
    count: int,
    *,
    images: int,
    sampler: str,
    budget: int,
    prior: float,
    seed: int,
    stream: str,
    tick: Callable[[int], None] = lambda _: None,
) -> FilledPool:
    """`count` weak points of `images` randomly chosen training images, with `budget` classifier calls per image and a
    share `prior` of plain draws among them (then weighted, see above)."""
    kind, root = open_sampler(sampler), stream_root(seed, stream, data.device)
    keys = fold(root, data.ids)
    one = data.batch(torch.zeros(1, dtype=torch.int64, device=data.device))
    numbers = max(nuisance.latent(one) or 0, int(nuisance.identity(one).shape[-1]))
    chosen = torch.argsort(fold(keys, ORDER), stable=True)[: max(1, min(images, KEPT_NUMBERS // numbers))]
    keep = KEPT_NUMBERS // (len(chosen) * numbers)
    parts, calls = [], 0
    for rows in torch.split(chosen, max(1, BLOCK_NUMBERS // (budget * numbers))):
        batch = data.batch(rows)
        posterior = Posterior(
            Answers(batch, {HARDENED: classifier}, _at_once(data), tick),
            HARDENED,
            batch.labels,
            fold(keys[rows], PICKED),
            fold(keys[rows], KEPT),
            nuisance,
            kind.space,
        )
        found = kind.sample(posterior, Budget(calls=budget))
        parts.append(_kept_draws(posterior, rows, found, keep))
        calls += int(found.calls.sum())
    rows, theta, weight, likelihood, wrong = (torch.cat(each) for each in zip(*parts, strict=True))
    if not bool((weight > 0).any()):
        raise BrittleError("no weak point was found on the training images", "There is nothing to harden against.")
    failing = float(weight.sum()) / len(chosen)
    worth = likelihood / failing  # q / p
    mixed = weight * (1 - prior + prior / worth.clamp(min=TINY)) if prior else weight
    picked = _systematic(mixed, count, fold(root, PICKED))
    counts = 1 / (prior + (1 - prior) * worth[picked]) if prior else torch.ones_like(worth[picked])
    pool = WeakPool(rows, theta, picked, counts.float())
    return FilledPool(pool, len(chosen), calls, failing, float(wrong[picked].double().mean()))


def _at_once(data: TrainingImages) -> int:
    """How many images to classify at once: what fits in the caches of a CPU, or fills a GPU."""
    numbers = math.prod(data.set.shape)
    return max(1, min(8192, (1 << 26) // numbers) if data.device.type == "cuda" else min(512, (1 << 19) // numbers))


class _BlockDraws(NamedTuple):
    """What is kept from a block of images, n draws in all."""

    rows: Tensor  # (n,)
    theta: Tensor  # (n, d)
    weight: Tensor  # (n,) their share of the images' 1 − µ̂(x)
    likelihood: Tensor  # (n,) p(not ℓ)
    wrong: Tensor  # (n,) whether another label wins


def _kept_draws(posterior: Posterior, rows: Tensor, found: PosteriorDraws, keep: int) -> _BlockDraws:
    """All draws with their weights or, if there are too many, `keep` per image with equal weights."""
    assert found.evidence is not None, "samplers of populations estimate how often each image fails"
    failing = found.evidence.double().exp().nan_to_num()
    position, outcomes = found.position.flatten(1, 2), found.outcomes.flatten(1, 2)
    weight = torch.softmax(found.log_weight.flatten(1).double(), 1).nan_to_num()
    if keep < weight.shape[1]:
        places = torch.stack(
            [_systematic(each, keep, key) for each, key in zip(weight, fold(posterior.keys, KEPT), strict=True)]
        )
        position = position.gather(1, places[..., None].expand(-1, -1, position.shape[-1]))
        outcomes = outcomes.gather(1, places[..., None].expand(-1, -1, outcomes.shape[-1]))
        weight = (weight.sum(1, keepdim=True) / keep).expand(-1, keep)
    theta, seen = posterior.theta(position.double()).float(), Outcome.unpacked(outcomes)
    return _BlockDraws(
        rows.repeat_interleave(theta.shape[1]),
        theta.flatten(0, 1),
        (weight * failing[:, None]).flatten(),
        seen.log_p_other.double().exp().flatten(),
        (seen.predicted.long() != posterior.labels[:, None]).flatten(),
    )


def _systematic(weight: Tensor, count: int, key: Tensor) -> Tensor:
    """Places (count,) drawn by weight (n,), by systematic resampling, in random order."""
    ladder = (torch.arange(count, device=weight.device) + uniform(fold(key, KEPT), 1)) / count
    cumulative = weight.cumsum(0)
    places = torch.searchsorted(cumulative, ladder * cumulative[-1]).clamp(max=len(weight) - 1)
    return places[uniform(fold(key, ORDER), count).argsort(stable=True)]
