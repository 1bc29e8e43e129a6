"""Random breaking points (UREM, section 3.1 and figure 3a): how far severity rises before the prediction changes.

The base is the classifier's own clean prediction. With `noise=path` one θ per image and repeat is scaled by severity,
so that a breaking point is a property of a path; with `noise=fresh` θ is drawn anew at each severity, and the breaking
point falls as the step shrinks. A path that does not break up to the limit is kept as such.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from brittle.measures import register
from brittle.measures.answers import PendingOutcome
from brittle.measures.base import (
    CLASSIFIER,
    IMAGES,
    PATH,
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
    numbering_draws,
)
from brittle.measures.breaking_points.options import BreakingPointsOptions
from brittle.measures.breaking_points.summary import summarise_run
from brittle.measures.changes import Along, AlongFresh
from brittle.measures.clean.measure import READ as CLEAN
from brittle.measures.clean.measure import predictions
from brittle.measures.criteria import left
from brittle.measures.distortion import BESIDE, beside
from brittle.measures.draws import check_path, check_whole, draw_theta
from brittle.measures.lanes import State, lane_size
from brittle.measures.outcomes import first_bad
from brittle.measures.plan import Grid, Unit, rows_per_unit
from brittle.measures.severities import Severities, fine_grid
from brittle.measures.sweep import Crossings, sweep
from brittle.random import stream_root

KIND = "breaking-points"
EXPECTED_CALLS = 64  # of a path, for progress: nobody knows beforehand
FEWEST_PER_UNIT = 16


@register(KIND)
@dataclass(frozen=True)
class BreakingPoints(BreakingPointsOptions, Measure):
    """The severity at which the prediction leaves the clean prediction, per image and path."""

    over: ClassVar[frozenset[str]] = frozenset({CLASSIFIER, IMAGES, PATH})
    reads: ClassVar[tuple[Read, ...]] = (CLEAN,)

    def grid(self, about: About) -> Severities:
        assert about.nuisance is not None
        return fine_grid(about.nuisance, self.step, self.limit)

    def check(self, about: About, asked: Asked) -> None:
        self.grid(about)
        check_path(about)
        check_whole(about, "breaking points")

    def nuisances(self) -> tuple[str, ...]:
        return ("noise",)

    def plan(self, about: About) -> Grid:
        """A unit is some images with a few of their paths; images of one unit share a batch."""
        paths = max(FEWEST_PER_UNIT, rows_per_unit(about.numbers) // 16)
        repeats = min(self.repeats, paths)
        return Grid(
            about.count, self.repeats, max(1, paths // repeats), repeats, columns={"repeat": np.arange(self.repeats)}
        )

    def calls(self, unit: Unit) -> int:
        return unit.size * EXPECTED_CALLS

    @torch.inference_mode()
    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        return {name: partial(self._tables, task, self._swept(task, name)) for name in task.classifiers}

    def _swept(self, task: Task, name: str) -> Crossings:
        nuisance, device = task.about.nuisance, task.device
        assert nuisance is not None
        base = torch.from_numpy(predictions(task.given[name], task.ids)).to(device)
        rows, repeats = task.pairs.rows.to(device), task.pairs.axis.to(device)
        severities = self.grid(task.about).tensor(device)
        root = stream_root(task.about.seed, task.about.stream, device)

        fresh = self.noise == "fresh"
        moved = AlongFresh(nuisance, root) if fresh else Along(nuisance)

        def begin(path: Tensor) -> State:
            if fresh:
                return {}
            return {"theta": draw_theta(nuisance, task.batch.take(rows[path]), repeats[path], root)}

        def submit(path: Tensor, state: State, place: Tensor) -> PendingOutcome:
            drawn = {"draw": repeats[path], "place": place} if fresh else {"theta": state["theta"]}
            return task.answers.submit(name, rows[path], drawn | {"severity": severities[place]}, moved, base)

        return sweep(len(rows), severities, lane_size(task.batch_size, device), begin, submit, left)

    def _tables(self, task: Task, found: Crossings) -> Tables:
        columns = found.outcome.columns()
        bad = first_bad(columns)
        if bad is not None:
            raise BadAnswer(
                int(task.pairs.rows[bad.row]), f"{bad.wrong} at severity {float(found.severity[bad.row]):g}"
            )
        kept = ("predicted", "log_p_predicted", "log_p_label")
        rows = pa.table(
            task.keys("repeat")
            | {
                "broke": found.met.cpu().numpy(),
                "place": found.place.cpu().numpy().astype(np.int32),
                "severity": found.severity.cpu().numpy().astype(np.float32),
                **{name: columns[name] for name in kept},
            }
        )
        return {ROWS: rows if self.noise == "fresh" else numbering_draws(rows, "repeat")}

    def summarise(self, run: RunView) -> dict[str, Any]:
        return summarise_run(self, run) | {BESIDE: beside(run, "at the break")}
