"""Weak points: draws from p(θ | not ℓ(x), x), which say where a classifier breaks (Fawzi & Frossard 2016, section 2.3).

What is kept of an image are draws of equal weight, `keep` of them: a chain's evenly spaced, a population's resampled.
The diagnosis beside them is made from all that was drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.measures import register
from brittle.measures.base import ROWS, About, Measure, MeasureInputs, Pending, Piece, Read, RunView, Tables, Task
from brittle.measures.clean.measure import READ as CLEAN
from brittle.measures.clean.measure import references
from brittle.measures.outcomes import COLUMNS, Outcome
from brittle.measures.plan import Grid, Unit
from brittle.measures.weak_points.diagnosis import DIAGNOSIS, Diagnosis, diagnose
from brittle.measures.weak_points.options import WeakPointsOptions
from brittle.measures.weak_points.posterior import Posterior
from brittle.measures.weak_points.summary import WeakPointsFold, summarise_weak_points
from brittle.random import fold, uniform
from brittle.samplers import sampler, samplers
from brittle.samplers.chain import ChainSampler
from brittle.samplers.target import Budget, PosteriorDraws

KIND = "weak-points"
DIAGNOSES = "images"  # the table with a row per image
MOST_PER_UNIT = 32  # images
STORED_NUMBERS = 1 << 14  # of θ per image: longer θ are kept fewer times
FEWEST_KEPT = 8
KEPT = 7  # the stream that says which draws are kept
MEASURED = Read("robustness", required=False)


@register(KIND)
@dataclass(frozen=True)
class WeakPoints(WeakPointsOptions, Measure):
    """Draws of θ per image from the posterior that the classifier is wrong."""

    reads: ClassVar = (CLEAN, MEASURED)

    @property
    def runs_code(self) -> bool:
        return samplers.runs_code(self.sampler)

    @property
    def work(self) -> Budget:
        return Budget(self.chains, self.steps, self.burn_in, self.start, self.tries, self.budget)

    def kept(self, numbers: int) -> int:
        """Draws kept of an image whose θ has so many numbers."""
        return min(self.keep, max(FEWEST_KEPT, STORED_NUMBERS // numbers))

    def check(self, about: About, asked: MeasureInputs) -> None:
        sampler(self.sampler)

    def plan(self, about: About) -> Grid:
        """A unit is some images with all that is kept of them: fewer where a call is expensive."""
        per_unit = max(1, min(MOST_PER_UNIT, (1 << 17) // about.numbers))
        kept = self.kept(about.theta_size)
        return Grid(min(about.count, self.count), kept, per_unit, kept, columns={})

    def calls(self, unit: Unit) -> int:
        if not isinstance(sampler(self.sampler), ChainSampler):
            return len(unit.images) * self.budget
        return len(unit.images) * self.chains * (self.tries + self.burn_in + self.steps)

    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        ids, drawn, answers = task.batch.ids, sampler(self.sampler), task.answers.of(task.batch)
        own, prior = fold(task.root(f"{task.about.stream} weak points"), ids), fold(task.root(), ids)
        found = {}
        for name in task.classifiers:
            right, known = references(task, name), measured_draws(task, name)
            posterior = Posterior(answers, name, right, own, prior, task.nuisance, drawn.space, known, self.failing)
            found[name] = self.sampled(posterior, task.pieces, len(task.pieces[0].axis)).tables
        return found

    def fold(self, about: About) -> WeakPointsFold:
        return WeakPointsFold()

    def summarise(self, run: RunView) -> dict[str, Any]:
        return summarise_weak_points(self.sampler, run, self.failing)

    def sampled(self, posterior: Posterior, pieces: Sequence[Piece], keep: int) -> SampledBlock:
        """Draws for a block of images, `keep` of each kept."""
        found = sampler(self.sampler).sample(posterior, self.work)
        images, chains, draws = found.log_weight.shape
        flat = found.position.double().flatten(1, 2)
        theta = posterior.theta(flat).float()
        log_prior = posterior.density(flat, theta).view(images, chains, draws)
        theta = theta.view(images, chains, draws, -1)
        predicted = Outcome.unpacked(found.outcomes).predicted.long()
        picked = _evenly(found, keep) if found.chains else _resampled(found, keep, fold(posterior.keys, KEPT))
        return SampledBlock(
            posterior.batch.ids,
            pieces,
            picked,
            _at(theta.flatten(1, 2), picked),
            Outcome.unpacked(_at(found.outcomes.flatten(1, 2), picked)),
            _at(log_prior.flatten(1)[..., None], picked)[..., 0],
            found.found,
            draws,
            diagnose(posterior, found, theta, log_prior, predicted),
        )


def measured_draws(task: Task, classifier: str) -> Outcome | None:
    """Outcomes (B, m) of every image's first m draws of the prior, where its robustness has been measured."""
    given = task.given[classifier].get(MEASURED.kind)
    if given is None:
        return None
    rows, ids = given[ROWS], task.ids
    order = np.argsort(ids, kind="stable")
    images = rows["image"].to_numpy()
    places = np.minimum(np.searchsorted(ids, images, sorter=order), len(ids) - 1)
    here = ids[order[places]] == images
    row, draw = order[places[here]], rows["draw"].to_numpy()[here]
    count = int(draw.max(initial=-1)) + 1
    if len(row) != len(ids) * count or not count:
        return None
    columns = []
    for name in COLUMNS:
        values = np.empty((len(ids), count), np.float32)
        values[row, draw] = rows[name].to_numpy()[here]
        columns.append(torch.from_numpy(values).to(task.device))
    return Outcome(*columns)


class SampledBlock(NamedTuple):
    """What is kept of B images, k draws each."""

    ids: Tensor  # (B,)
    pieces: Sequence[Piece]
    picked: Tensor  # (B, k) place among all draws, chain by chain
    theta: Tensor  # (B, k, d)
    outcomes: Outcome  # (B, k)
    log_prior: Tensor  # (B, k)
    found: Tensor  # (B,)
    steps: int  # draws of a chain
    diagnoses: list[Diagnosis]

    def tables(self) -> Tables:
        """Rows image by image, and a diagnosis per image."""
        order = torch.cat([piece.rows for piece in self.pieces]).numpy()
        units = np.concatenate([np.full(len(piece.rows), piece.unit, np.int32) for piece in self.pieces])
        diagnosed = pa.Table.from_pylist([self.diagnoses[place]._asdict() for place in order], DIAGNOSIS)
        return {ROWS: self._rows(order, units), DIAGNOSES: diagnosed.add_column(0, "unit", pa.array(units))}

    def _rows(self, order: NDArray[np.int64], units: NDArray[np.int32]) -> pa.Table:
        size, kept = self.theta.shape[-1], self.theta.shape[1]
        places = torch.from_numpy(order).to(self.theta.device)
        picked = self.picked[places].flatten().cpu().numpy()
        columns: dict[str, Any] = {
            "unit": units.repeat(kept),
            "image": self.ids[places].repeat_interleave(kept).cpu().numpy(),
            "draw": np.tile(np.arange(kept, dtype=np.int32), len(order)),
            "chain": (picked // self.steps).astype(np.int32),
            "step": (picked % self.steps).astype(np.int32),
            "found": self.found[places].repeat_interleave(kept).cpu().numpy(),
        }
        columns |= self.outcomes.take(places).columns()
        columns["log_prior"] = self.log_prior[places].flatten().float().cpu().numpy()
        numbers = pa.array(self.theta[places].flatten().float().cpu().numpy())
        offsets = pa.array(np.arange(len(order) * kept + 1, dtype=np.int32) * size)
        columns["theta"] = pa.ListArray.from_arrays(offsets, numbers)
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
