"""Random breaking points (UREM, section 3.1 and figure 3a): how far severity rises before the prediction changes.

The base is the classifier's own clean prediction. With `noise=path` one θ per image and repeat is scaled by severity,
so that a breaking point is a property of a path; with `noise=fresh` θ is drawn anew at each severity, and the breaking
point falls as the step shrinks. A path that does not break up to the limit is kept as such. With `search=bisect` the
path is whole at the severity before the one that is found, which is the first unless it comes back on the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.measures import register
from brittle.measures.answers import PendingOutcome
from brittle.measures.base import ALONG_PATHS, About, Measure, MeasureInputs, Pending, RunView, Tables, Task, tabled
from brittle.measures.breaking_points.options import BreakingPointsOptions
from brittle.measures.breaking_points.summary import path_values, summarise_run
from brittle.measures.changes import AlongFreshPath
from brittle.measures.clean.measure import READ as CLEAN
from brittle.measures.clean.measure import predictions
from brittle.measures.criteria import left_prediction
from brittle.measures.distortion import INTERFERENCE_KEY, interference_rows
from brittle.measures.draws import check_path, check_stored
from brittle.measures.folds import ImageValues
from brittle.measures.lanes import State, lane_size
from brittle.measures.paths import Paths, Walk, nothing
from brittle.measures.plan import Columns, Grid, Unit, rows_per_unit
from brittle.measures.severities import Severities, fine_grid
from brittle.measures.sweep import Course, Crossings, sweep

KIND = "breaking-points"
EXPECTED_CALLS = 64  # of a path, for progress: not known beforehand
FEWEST_PER_UNIT = 16
KEPT = ("predicted", "log_p_predicted", "log_p_label")


@register(KIND)
@dataclass(frozen=True)
class BreakingPoints(BreakingPointsOptions, Measure):
    """The severity at which the prediction leaves the clean prediction, per image and path."""

    over: ClassVar = ALONG_PATHS
    reads: ClassVar = (CLEAN,)

    def grid(self, about: About) -> Severities:
        return fine_grid(about.nuisance, self.step, self.limit)

    def check(self, about: About, asked: MeasureInputs) -> None:
        self.grid(about)
        if self.search == "bisect" and self.noise == "fresh":
            raise BrittleError(
                "noise=fresh draws another θ at each severity, so that breaking at one says nothing about the others, "
                "and search=bisect rests on that",
                "Use search=first, or noise=path.",
            )
        check_path(about)
        check_stored(about, KIND)

    def nuisances(self) -> tuple[str, ...]:
        return ("noise",)

    def plan(self, about: About) -> Grid:
        """A unit is some images with a few of their paths; images of one unit share a batch."""
        paths = max(FEWEST_PER_UNIT, rows_per_unit(about.numbers) // 16)
        repeats = min(self.repeats, paths)
        return Grid(about.count, self.repeats, max(1, paths // repeats), repeats, columns=self._columns)

    @property
    def _columns(self) -> Columns:
        return {"repeat": np.arange(self.repeats)}

    def calls(self, unit: Unit) -> int:
        return unit.size * EXPECTED_CALLS

    @torch.inference_mode()
    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        return {name: partial(self._tables, task, self._swept(task, name)) for name in task.classifiers}

    def _swept(self, task: Task, name: str) -> Crossings:
        walk, severities = Walk(task), self.grid(task.about).tensor(task.device)
        paths = Paths(np.arange(len(task.rows)), task.rows, task.axis)
        base = torch.from_numpy(predictions(task.given[name], task.ids)).to(task.device)

        def submit(path: Tensor, state: State, place: Tensor) -> PendingOutcome:
            return walk.submit(name, paths.rows[path], state, severities[place], base)

        def anew(path: Tensor, state: State, place: Tensor) -> PendingOutcome:
            at = {"draw": paths.repeats[path], "place": place, "severity": severities[place]}
            return task.answers.submit(name, paths.rows[path], at, AlongFreshPath(task.nuisance, walk.root), base)

        begin, go = (nothing, anew) if self.noise == "fresh" else (walk.begin(paths), submit)
        size = lane_size(task.batch_size, task.device)
        course = Course(len(task.rows), size, begin, go, task.device)
        return sweep(course, severities, left_prediction, halving=self.search == "bisect")

    def _tables(self, task: Task, found: Crossings) -> Tables:
        columns = task.fetched(found.outcome, where=lambda row: f" at severity {float(found.severity[row]):g}")
        told = {"broke": found.met, "place": found.place, "severity": found.severity}
        said = {name: columns[name] for name in KEPT}
        return tabled({**task.keys(self._columns), **told, **said}, drawn="" if self.noise == "fresh" else "repeat")

    def fold(self, about: About) -> ImageValues:
        return path_values(about.subject, self.repeats)

    def summarise(self, run: RunView) -> dict[str, Any]:
        return summarise_run(self, run) | {INTERFERENCE_KEY: interference_rows(run, "at the break")}
