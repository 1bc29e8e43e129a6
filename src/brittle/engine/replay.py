"""T_θ x made again: a run stores nothing but rows; pictures follow from seed, id, nuisance and draw number, and where a
nuisance reads extras, from the classifier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from brittle.engine.execute.batch_extras import with_extras
from brittle.engine.job import Job
from brittle.images.base import ImageSet
from brittle.measures.draws import draw_theta, numbered_theta
from brittle.nuisances import transformed
from brittle.random import draw_keys, stream_root
from brittle.types import Batch, Nuisance


def _as_it_is(batch: Batch, places: Sequence[int]) -> Batch:
    return batch


@dataclass(frozen=True)
class Replay:
    """An image set, in planned order, under one nuisance; `extended` adds what the nuisance needs to a batch of the
    images at some places."""

    images: ImageSet
    nuisance: Nuisance
    stream: str
    seed: int
    device: torch.device | str = "cpu"
    extended: Callable[[Batch, Sequence[int]], Batch] = _as_it_is

    def batch(self, places: Sequence[int]) -> Batch:
        """Images of one shape, with all that the nuisance needs."""
        return self.extended(self.images.batch(places, self.device), places)

    def theta(self, place: int, draw: int) -> Tensor:
        """θ (d,) of one draw of one image."""
        return self._drawn(self.batch([place]), torch.tensor([draw], device=self.device))[0]

    def prior(self, batch: Batch, count: int) -> Tensor:
        """θ (B, n, d): the prior's first draws, those that a measurement sees."""
        return self.nuisance.sample(batch, draw_keys(self.seed, self.stream, batch.ids, torch.arange(count)))

    def drawn(self, batch: Batch, draws: Tensor) -> Tensor:
        """θ (B, n, d) of some draws (n,) of every image, by their numbers in rows."""
        count, rows = len(draws), torch.arange(len(batch.ids), device=batch.ids.device)
        every = batch.take(rows.repeat_interleave(count))
        theta = self._drawn(every, draws.to(self.device).repeat(len(rows)))
        return theta.view(len(rows), count, -1)

    def _drawn(self, batch: Batch, draws: Tensor, within: int | None = None) -> Tensor:
        root = stream_root(self.seed, self.stream, self.device)
        if within is None:
            return numbered_theta(self.nuisance, batch, draws, root)
        return draw_theta(self.nuisance, batch, draws, root, torch.full_like(draws, within))

    @torch.inference_mode()
    def draws(
        self, pairs: Sequence[tuple[int, int]], severity: float | None = None, within: int | None = None
    ) -> list[Tensor]:
        """T_θ x (C, H, W) at each of (place, draw), with the θ of the run, or at a severity along their paths; `within`
        numbers further θ of a draw."""
        found: dict[int, Tensor] = {}
        places = [place for place, _ in pairs]
        numbers = torch.tensor([draw for _, draw in pairs], device=self.device)
        for rows, batch in self.images.groups(places, self.device):
            full = self.extended(batch, [places[row] for row in rows.tolist()])
            theta = self._drawn(full, numbers[rows.to(self.device)], within)
            found |= zip(rows.tolist(), self._made(full, theta, severity), strict=True)
        return [found[row] for row in range(len(pairs))]

    @torch.inference_mode()
    def at(self, place: int, theta: Tensor, severity: float | None = None) -> Tensor:
        """T_θ x (n, C, H, W) of one image at θ (n, d)."""
        one = self.batch([place])
        batch = one.take(torch.zeros(len(theta), dtype=torch.int64, device=one.images.device))
        return self._made(batch, theta.to(one.images.device), severity)

    def _made(self, batch: Batch, theta: Tensor, severity: float | None) -> Tensor:
        if severity is None:
            return self.nuisance.apply(batch, theta)
        return transformed(self.nuisance, batch, theta, severity)


def replay_of(job: Job, images: str, nuisance: str, classifier: str = "", device: torch.device | str = "cpu") -> Replay:
    """Makes the pictures of a job again: as a classifier saw them, where what a nuisance does differs by classifier."""
    extended = partial(_extended, job, images, nuisance, classifier) if job.needs(nuisance) else _as_it_is
    there = job.images[images].images
    return Replay(there, job.nuisances[nuisance], job.stream(nuisance), job.seed, device, extended)


def _extended(job: Job, images: str, nuisance: str, classifier: str, batch: Batch, places: Sequence[int]) -> Batch:
    labels = torch.from_numpy(job.references(classifier, images)[list(places)]).to(batch.labels)
    return with_extras(job, batch, labels, nuisance, classifier)
