"""The paths of a task: which of its images are followed, and what they look like at a severity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.measures.base import ROWS, Task, looked_up
from brittle.measures.clean.measure import KIND as CLEAN
from brittle.measures.draws import draw_theta
from brittle.measures.outcomes import Outcome, outcome
from brittle.measures.places import State
from brittle.measures.severities import followable
from brittle.measures.sweep import Begin
from brittle.random import stream_root


class Paths(NamedTuple):
    """Some paths of a task; each is an image with a repeat, at every severity."""

    number: NDArray[np.int64]  # (n,) among all paths of the task
    rows: Tensor  # (n,) places in the batch
    repeats: Tensor  # (n,)

    def some(self, chosen: Tensor) -> Paths:
        return Paths(self.number[chosen.cpu().numpy()], self.rows[chosen], self.repeats[chosen])


class Walk:
    """Images of a task under its nuisance, θ drawn once per path."""

    def __init__(self, task: Task, places: int) -> None:
        assert task.about.nuisance is not None
        self.task, self.places, self.nuisance = task, places, task.about.nuisance
        self.device = task.batch.images.device
        self.root = stream_root(task.about.seed, task.about.stream, self.device)

    def right(self, classifier: str) -> NDArray[np.bool_]:
        """(B,) whether the clean image is classified correctly; True where there is none."""
        subject = self.task.about.subject
        if subject is not None and not subject.origin:
            return np.ones(len(self.task.ids), bool)
        return np.asarray(looked_up(self.task.given[classifier][CLEAN][ROWS], "rank", self.task.ids) == 0, bool)

    def paths(self, wanted: NDArray[np.bool_] | None = None) -> Paths:
        """Of the images that have a label and whose path exists, and that are `wanted` (B,)."""
        subject, ids = self.task.about.subject, self.task.ids
        assert subject is not None
        there = (subject.labels[subject.places(ids)] >= 0) & followable(self.nuisance, ids)
        rows, axis = (each.view(-1, self.places)[:, 0] for each in (self.task.pairs.rows, self.task.pairs.axis))
        number = (there if wanted is None else there & wanted)[rows.numpy()].nonzero()[0]
        kept = torch.from_numpy(number)
        repeats = axis[kept].div(self.places, rounding_mode="floor")
        return Paths(number, rows[kept].to(self.device), repeats.to(self.device))

    def begin(self, paths: Paths) -> Begin:
        def drawn(path: Tensor) -> State:
            batch = self.task.batch.take(paths.rows[path])
            return {"theta": draw_theta(self.nuisance, batch, paths.repeats[path], self.root)}

        return drawn

    def moved(self, rows: Tensor, state: State, severity: Tensor) -> Tensor:
        """Images (B, C, H, W) of the batch at severities (B,)."""
        batch = self.task.batch.take(rows)
        return self.nuisance.apply(batch, self.nuisance.at(state["theta"], severity, batch))

    def said(self, classifier: str, rows: Tensor, images: Tensor) -> Outcome:
        log_probs = self.task.classifiers[classifier].log_probs(images)
        return outcome(log_probs, self.task.labels[classifier][rows])
