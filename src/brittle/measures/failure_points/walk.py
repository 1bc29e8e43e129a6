"""The paths of a task: which of its images are followed, and what they look like at a severity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.measures.answers import PendingOutcome
from brittle.measures.base import ROWS, Task, looked_up
from brittle.measures.changes import Along
from brittle.measures.clean.measure import KIND as CLEAN
from brittle.measures.draws import draw_theta
from brittle.measures.lanes import State
from brittle.measures.outcomes import Outcome
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
        self.device = task.device
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

    def submit(self, classifier: str, rows: Tensor, state: State, severity: Tensor) -> PendingOutcome:
        """What a classifier says of images at `rows` (B,) of the batch at severities (B,) of their paths."""
        at, right = {"theta": state["theta"], "severity": severity}, self.task.labels[classifier]
        return self.task.answers.submit(classifier, rows, at, Along(self.nuisance), right)

    def all(self, rows: Tensor, state: State, severity: Tensor) -> PendingOutcome:
        """(B, classifiers) the same of all of them, about the same changed images."""
        at = {"theta": state["theta"], "severity": severity}
        said = self.task.answers.all(rows, at, Along(self.nuisance), self.task.labels).outcomes.values()
        return lambda: Outcome(*(torch.stack(each, 1) for each in zip(*(found() for found in said), strict=True)))
