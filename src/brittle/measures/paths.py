"""Paths of a task: images with a θ drawn once for each, and what classifiers say of them at a severity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.measures.answers import PendingOutcome
from brittle.measures.base import Task
from brittle.measures.changes import AlongPath
from brittle.measures.draws import draw_theta
from brittle.measures.lanes import State
from brittle.measures.outcomes import Outcome
from brittle.measures.sweep import Begin


class Paths(NamedTuple):
    """Some paths of a task; each is an image with a repeat, at every severity."""

    number: NDArray[np.int64]  # (n,) among all paths of the task
    rows: Tensor  # (n,) places in the batch
    repeats: Tensor  # (n,)

    def some(self, chosen: Tensor) -> Paths:
        return Paths(self.number[chosen.cpu().numpy()], self.rows[chosen], self.repeats[chosen])


class Walk:
    """Images of a task under its nuisance, θ drawn once per path."""

    def __init__(self, task: Task) -> None:
        self.task, self.root, self.along = task, task.root(), AlongPath(task.nuisance)

    def begin(self, paths: Paths) -> Begin:
        def drawn(path: Tensor) -> State:
            batch = self.task.take(paths.rows[path])
            return {"theta": draw_theta(self.task.nuisance, batch, paths.repeats[path], self.root)}

        return drawn

    def submit(self, classifier: str, rows: Tensor, state: State, severity: Tensor, right: Tensor) -> PendingOutcome:
        """What a classifier says of images at `rows` (B,) of the batch at severities (B,) of their paths."""
        at = {"theta": state["theta"], "severity": severity}
        return self.task.answers.submit(classifier, rows, at, self.along, right)

    def all(self, rows: Tensor, state: State, severity: Tensor) -> PendingOutcome:
        """(B, classifiers) the same of all of them, about the same changed images."""
        at = {"theta": state["theta"], "severity": severity}
        said = self.task.answers.all(rows, at, self.along, self.task.labels, stays=True).outcomes.values()
        return lambda: Outcome(*(torch.stack(each, 1) for each in zip(*(found() for found in said), strict=True)))


def nothing(path: Tensor) -> State:
    """What paths carry along that are drawn anew at every severity."""
    return {}
