"""Shuffling: what is left of accuracy when the patches of an image change places, grid by grid (Marcu & Prügel-Bennett
2022, section 2.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.measures import register
from brittle.measures.answers import PendingOutcome
from brittle.measures.base import (
    CLASSIFIER,
    IMAGES,
    ROWS,
    About,
    Asked,
    BadAnswer,
    Measure,
    Pending,
    Read,
    RunView,
    Tables,
    Task,
)
from brittle.measures.changes import Drawn
from brittle.measures.clean.measure import READ as CLEAN
from brittle.measures.clean.measure import references
from brittle.measures.outcomes import first_bad, joined
from brittle.measures.plan import Grid, rows_per_unit
from brittle.measures.shuffling.options import ShufflingOptions
from brittle.measures.shuffling.summary import summarise_shuffling
from brittle.nuisances.structure.shuffle import Shuffle
from brittle.random import stream_root

KIND = "shuffling"


@register(KIND)
@dataclass(frozen=True)
class Shuffling(ShufflingOptions, Measure):
    """Accuracy on shuffled patches, and to which class the errors go."""

    over: ClassVar[frozenset[str]] = frozenset({CLASSIFIER, IMAGES})
    reads: ClassVar[tuple[Read, ...]] = (CLEAN,)

    def shuffle(self, grid: int) -> Shuffle:
        return Shuffle(grid=grid, moves=self.moves)

    @staticmethod
    def stream(grid: int) -> str:
        """The name of a grid's random numbers."""
        return f"shape: shuffle {grid}"

    def check(self, about: About, asked: Asked) -> None:
        twice = next((grid for grid in self.grids if self.grids.count(grid) > 1), None)
        if twice is not None:
            raise BrittleError(f"shuffling: grids names {twice} twice", "Name each grid once.")
        if about.subject is not None:
            for grid in self.grids:
                self.shuffle(grid).check(about.subject.shape)

    def plan(self, about: About) -> Grid:
        """A unit is some images with all their shuffles."""
        axis, rows = len(self.grids) * self.samples, rows_per_unit(about.numbers)
        columns = {
            "grid": np.repeat(self.grids, self.samples),
            "draw": np.tile(np.arange(self.samples), len(self.grids)),
        }
        return Grid(about.count, axis, max(1, rows // axis), min(axis, rows), columns=columns)

    @torch.inference_mode()
    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        """Grid by grid, and then in planned order again."""
        device = task.device
        rows, axis = task.pairs.rows.to(device), task.pairs.axis.to(device)
        right = {name: references(task, name) for name in task.classifiers}
        parts, order = [], []
        for number, grid in enumerate(self.grids):
            shuffled = Drawn(self.shuffle(grid), stream_root(task.about.seed, self.stream(grid), device))
            own = (axis // self.samples == number).nonzero()[:, 0]
            order.append(own)
            parts.append(task.answers.all(rows[own], {"draw": axis[own] % self.samples}, shuffled, right).outcomes)
        back = torch.cat(order).argsort()
        return {name: partial(self._tables, task, [each[name] for each in parts], back) for name in right}

    def _tables(self, task: Task, parts: Sequence[PendingOutcome], order: Tensor) -> Tables:
        columns, pairs = joined([pending() for pending in parts]).take(order).columns(), task.pairs
        bad = first_bad(columns)
        if bad is not None:
            raise BadAnswer(int(pairs.rows[bad.row]), bad.wrong, draw=int(pairs.axis[bad.row]))
        places = pairs.axis.numpy()
        grids = np.array(self.grids, np.int32)[places // self.samples]
        draws = (places % self.samples).astype(np.int32)
        return {ROWS: pa.table(task.keys() | {"grid": grids, "draw": draws} | columns)}

    def summarise(self, run: RunView) -> dict[str, Any]:
        return summarise_shuffling(self, run)
