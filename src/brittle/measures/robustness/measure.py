"""Robustness µ(x) and ρ under a nuisance's prior (Fawzi & Frossard 2016, equations 1 and 2), with intervals.

ρ is a mean confidence; beside it stand accuracy clean and under the nuisance, worst-of-k accuracy and
the flip rate. What is estimated is named, and each estimand has its own interval (see docs/statistics.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch

from brittle.errors import BrittleError
from brittle.measures import register
from brittle.measures.answers import PendingOutcome
from brittle.measures.base import About, Measure, MeasureInputs, Pending, RunView, Tables, Task, tabled
from brittle.measures.changes import DrawnTheta
from brittle.measures.clean.measure import READ as CLEAN
from brittle.measures.clean.measure import references
from brittle.measures.designs import DESIGNS
from brittle.measures.distortion import INTERFERENCE_KEY, interference_rows
from brittle.measures.draws import check_design
from brittle.measures.plan import Columns, Grid, rows_per_unit
from brittle.measures.robustness.fold import RobustnessFold
from brittle.measures.robustness.options import RobustnessOptions
from brittle.measures.robustness.summary import summarise_run

KIND = "robustness"
IMAGES_BETWEEN_STOPS = 32


@register(KIND)
@dataclass(frozen=True)
class Robustness(RobustnessOptions, Measure):
    """µ̂(x) per image and ρ̂ over the set, under draws from the nuisance's prior."""

    reads: ClassVar = (CLEAN,)

    def check(self, about: About, asked: MeasureInputs) -> None:
        wanted, there = about.subject.asked, about.subject.population
        if self.estimand == "set" and wanted is not None and wanted < there:
            raise BrittleError(
                f"estimand 'set' uses every image, but only {wanted} of {there} are asked for",
                "Leave the count out, or use the estimand 'drawn'.",
            )
        check_design(about, self.design, self.draws)

    def plan(self, about: About) -> Grid:
        """The units in planned order; with a tolerance they are small, since stopping looks at their ends."""
        images, rows = about.count, rows_per_unit(about.numbers)
        if self.estimand == "set":
            rounds = self.block if self.stops else max(1, rows // images)
            return Grid(images, self.draws, min(images, rows), rounds, by_round=True, columns=self._columns)
        per_unit = IMAGES_BETWEEN_STOPS if self.stops else max(1, rows // self.draws)
        return Grid(images, self.draws, per_unit, min(self.draws, rows), columns=self._columns)

    @property
    def _columns(self) -> Columns:
        return {"draw": DESIGNS[self.design].first + np.arange(self.draws)}

    @torch.inference_mode()
    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        right = {name: references(task, name) for name in task.classifiers}
        change = DrawnTheta(task.nuisance, task.root(), self.design)
        said = task.answers.all(task.rows, {"draw": task.axis}, change, right)
        return {name: partial(self._tables, task, pending) for name, pending in said.outcomes.items()}

    def _tables(self, task: Task, pending: PendingOutcome) -> Tables:
        columns = task.fetched(pending(), draws=self._columns["draw"][task.pairs.axis.numpy()])
        return tabled(task.keys(self._columns) | columns, drawn="draw")

    def fold(self, about: About) -> RobustnessFold:
        return RobustnessFold(self, about.subject, len(self.plan(about)))

    def summarise(self, run: RunView) -> dict[str, Any]:
        return summarise_run(self, run) | {INTERFERENCE_KEY: interference_rows(run, "under the nuisance")}
