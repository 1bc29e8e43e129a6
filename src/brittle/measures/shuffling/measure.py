"""Shuffling: what is left of accuracy when the patches of an image change places, grid by grid (Marcu & Prügel-Bennett
2022, section 2.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.measures import register
from brittle.measures.answers import At, Change, PendingOutcome
from brittle.measures.base import ON_IMAGES, About, Measure, MeasureInputs, Pending, RunView, Tables, Task, tabled
from brittle.measures.changes import DrawnTheta
from brittle.measures.clean.measure import READ as CLEAN
from brittle.measures.clean.measure import references
from brittle.measures.folds import ImageSums
from brittle.measures.plan import Columns, Grid, rows_per_unit
from brittle.measures.shuffling.options import ShufflingOptions
from brittle.measures.shuffling.summary import summarise_shuffling, sums_by_grid
from brittle.nuisances.structure.shuffle import Shuffle

KIND = "shuffling"


@register(KIND)
@dataclass(frozen=True)
class Shuffling(ShufflingOptions, Measure):
    """Accuracy on shuffled patches, and to which class the errors go."""

    over: ClassVar = ON_IMAGES
    reads: ClassVar = (CLEAN,)

    def shuffle(self, grid: int) -> Shuffle:
        return Shuffle(grid=grid, moves=self.moves)

    @staticmethod
    def stream(grid: int) -> str:
        """The name of a grid's random numbers."""
        return f"shape: shuffle {grid}"

    def check(self, about: About, asked: MeasureInputs) -> None:
        twice = next((grid for grid in self.grids if self.grids.count(grid) > 1), None)
        if twice is not None:
            raise BrittleError(f"shuffling: grids names {twice} twice", "Name each grid once.")
        for grid in self.grids:
            self.shuffle(grid).check(about.subject.shape)

    def plan(self, about: About) -> Grid:
        """A unit is some images with all their shuffles."""
        axis, rows = len(self.grids) * self.samples, rows_per_unit(about.numbers)
        return Grid(about.count, axis, max(1, rows // axis), min(axis, rows), columns=self._columns)

    @property
    def _columns(self) -> Columns:
        draws = np.tile(np.arange(self.samples), len(self.grids))
        return {"grid": np.repeat(self.grids, self.samples), "draw": draws}

    def fold(self, about: About) -> ImageSums:
        return sums_by_grid(about.subject, self.grids)

    @torch.inference_mode()
    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        def asked() -> Iterator[tuple[Tensor, At, Change]]:
            for number, grid in enumerate(self.grids):
                own = (task.axis // self.samples == number).nonzero()[:, 0]
                shuffled = DrawnTheta(self.shuffle(grid), task.root(self.stream(grid)))
                yield own, {"draw": task.axis[own] % self.samples}, shuffled

        _, said, _ = task.by_change(asked(), {name: references(task, name) for name in task.classifiers})
        return {name: partial(self._tables, task, pending) for name, pending in said.items()}

    def _tables(self, task: Task, pending: PendingOutcome) -> Tables:
        return tabled(task.keys(self._columns) | task.fetched(pending()))

    def summarise(self, run: RunView) -> dict[str, Any]:
        return summarise_shuffling(self, run)
