"""Weak points: draws from p(θ | not ℓ(x), x), which say where a classifier breaks (Fawzi & Frossard 2016, section 2.3).

What is kept of an image are draws of equal weight, `keep` of them: a chain's evenly spaced, a population's resampled.
The diagnosis beside them is made from all that was drawn.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from brittle.measures import register
from brittle.measures.base import Measure, Pending, RunView, Task
from brittle.measures.evaluate import COLUMNS
from brittle.measures.plan import Unit, by_image
from brittle.measures.rows import outcome_columns
from brittle.measures.weak_points.diagnosis import Diagnosis, diagnose
from brittle.measures.weak_points.options import WeakPointsOptions
from brittle.measures.weak_points.posterior import Posterior
from brittle.measures.weak_points.summary import summarise_weak_points
from brittle.random import fold, stream_root, uniform
from brittle.samplers import sampler
from brittle.samplers.chain import ChainSampler
from brittle.samplers.target import Budget, PosteriorDraws

PREDICTED = COLUMNS.index("predicted")
STORED_NUMBERS = 1 << 14  # of θ, an image: longer θ are kept fewer times
FEWEST_KEPT = 8
KEPT = 7  # the stream that says which draws are kept


@register("weak-points")
@dataclass(frozen=True)
class WeakPoints(WeakPointsOptions, Measure):
    """Draws of θ per image from the posterior that the classifier is wrong."""

    name: ClassVar[str] = "weak-points"

    @property
    def work(self) -> Budget:
        return Budget(self.chains, self.steps, self.burn_in, self.start, self.tries, self.budget)

    def kept(self, numbers: int) -> int:
        """Draws kept of an image whose θ has so many numbers."""
        return min(self.keep, max(FEWEST_KEPT, STORED_NUMBERS // numbers))

    def plan(self, images: int, numbers_per_image: int, numbers_of_theta: int) -> list[Unit]:
        """A unit is some images with all that is kept of them: fewer where a call is dear."""
        per_unit = max(1, min(32, (1 << 17) // numbers_per_image))
        kept = self.kept(numbers_of_theta)
        return by_image(min(images, self.images), kept, per_unit, kept)

    def check_images(self, asked: int | None, there: int) -> None:
        sampler(self.sampler)  # says what is wrong with it

    def calls(self, unit: Unit) -> int:
        if not isinstance(sampler(self.sampler), ChainSampler):
            return unit.images * self.budget
        return unit.images * self.chains * (self.tries + self.burn_in + self.steps)

    def evaluate(self, task: Task) -> dict[str, Pending]:
        keep = int(task.pairs.draws.max()) + 1
        root = stream_root(task.seed, f"{task.stream} weak points", task.batch.ids.device)
        prior = stream_root(task.seed, task.stream, task.batch.ids.device)
        drawn = sampler(self.sampler)
        return {
            name: self.sampled(
                Posterior(
                    task.batch,
                    task.labels[name],
                    fold(root, task.batch.ids),
                    fold(prior, task.batch.ids),
                    classifier,
                    task.nuisance,
                    task.batch_size,
                    drawn.space,
                    task.known.get(name),
                    task.tick,
                ),
                keep,
            ).table
            for name, classifier in task.classifiers.items()
        }

    def summarise(self, run: RunView) -> dict[str, Any]:
        return summarise_weak_points(self.sampler, run)

    def sampled(self, posterior: Posterior, keep: int) -> Block:
        """Draws for a block of images, `keep` of each kept."""
        found = sampler(self.sampler).sample(posterior, self.work)
        images, chains, draws = found.log_weight.shape
        flat = found.position.double().flatten(1, 2)
        theta = posterior.theta(flat).float()
        log_prior = posterior.density(flat, theta).view(images, chains, draws)
        theta = theta.view(images, chains, draws, -1)
        predicted = found.outcomes[..., PREDICTED].long()
        picked = _evenly(found, keep) if found.chains else _resampled(found, keep, fold(posterior.keys, KEPT))
        return Block(
            posterior.batch.ids,
            picked,
            _at(theta.flatten(1, 2), picked),
            _at(found.outcomes.flatten(1, 2), picked),
            _at(log_prior.flatten(1)[..., None], picked)[..., 0],
            found.found,
            draws,
            diagnose(posterior, found, theta, log_prior, predicted),
        )


class Block(NamedTuple):
    """What is kept of B images, k draws each."""

    ids: Tensor  # (B,)
    picked: Tensor  # (B, k) place among all draws, chain by chain
    theta: Tensor  # (B, k, d)
    outcomes: Tensor  # (B, k, 5)
    log_prior: Tensor  # (B, k)
    found: Tensor  # (B,)
    steps: int  # draws of a chain
    diagnoses: list[Diagnosis]

    def table(self) -> pa.Table:
        """Rows image by image; the diagnosis stands in each image's first row."""
        images, kept, size = self.theta.shape
        picked = self.picked.flatten().cpu().numpy()
        columns: dict[str, pa.Array] = {
            "image": pa.array(self.ids.repeat_interleave(kept).cpu().numpy()),
            "draw": pa.array(np.tile(np.arange(kept, dtype=np.int32), images)),
            "chain": pa.array((picked // self.steps).astype(np.int32)),
            "step": pa.array((picked % self.steps).astype(np.int32)),
            "found": pa.array(self.found.repeat_interleave(kept).cpu().numpy()),
        }
        found = outcome_columns(self.outcomes.flatten(0, 1).float().cpu().numpy())
        columns |= {name: pa.array(values) for name, values in found.items()}
        columns["log_prior"] = pa.array(self.log_prior.flatten().float().cpu().numpy())
        numbers = pa.array(self.theta.flatten().float().cpu().numpy())
        columns["theta"] = pa.ListArray.from_arrays(
            pa.array(np.arange(images * kept + 1, dtype=np.int32) * size), numbers
        )
        texts = [json.dumps(each._asdict()) for each in self.diagnoses]
        columns["diagnosis"] = pa.array(
            [texts[place // kept] if place % kept == 0 else None for place in range(images * kept)], pa.string()
        )
        return pa.table(columns)


def _at(values: Tensor, picked: Tensor) -> Tensor:
    """values (B, N, r) at picked (B, k) → (B, k, r)"""
    return values.gather(1, picked[..., None].expand(-1, -1, values.shape[-1]))


def _evenly(found: PosteriorDraws, keep: int) -> Tensor:
    """Places (B, k) of evenly spaced steps of every chain, or of as many chains as can be kept."""
    images, chains, draws = found.log_weight.shape
    shown = min(chains, keep)
    steps = torch.linspace(0, draws - 1, min(draws, keep // shown), device=found.log_weight.device).round().long()
    places = (torch.arange(shown, device=steps.device)[:, None] * draws + steps).flatten()
    # Where fewer were drawn than are to be kept, all count about equally often.
    places = places[torch.arange(keep, device=places.device) * len(places) // keep]
    return places.expand(images, -1)


def _resampled(found: PosteriorDraws, keep: int, keys: Tensor) -> Tensor:
    """Places (B, k) drawn by weight, systematically, in a random order."""
    weight = torch.softmax(found.log_weight.flatten(1).double(), 1).nan_to_num(nan=1.0)
    ladder = (torch.arange(keep, device=weight.device) + uniform(keys, 1)) / keep
    cumulative = weight.cumsum(1)
    places = torch.searchsorted(cumulative, ladder * cumulative[:, -1:]).clamp(max=weight.shape[1] - 1)
    return places.gather(1, uniform(fold(keys, 1), keep).argsort(1))
