"""Robustness µ(x) and ρ under a nuisance's prior (Fawzi & Frossard 2016, equations 1 and 2), with intervals.

ρ is a mean confidence; beside it stand accuracy clean and under the nuisance, worst-of-k accuracy and
the flip rate. What is estimated is named, and each estimand has its own interval (see docs/statistics.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import torch

from brittle.errors import BrittleError
from brittle.measures import register
from brittle.measures.answers import PendingOutcome
from brittle.measures.base import (
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
from brittle.measures.changes import Drawn
from brittle.measures.clean.measure import READ as CLEAN
from brittle.measures.clean.measure import references
from brittle.measures.distortion import BESIDE, beside
from brittle.measures.outcomes import first_bad
from brittle.measures.plan import Grid, rows_per_unit
from brittle.measures.robustness.fold import RobustnessFold
from brittle.measures.robustness.options import RobustnessOptions
from brittle.measures.robustness.summary import summarise_run
from brittle.measures.robustness.tally import Array, Tally
from brittle.random import stream_root
from brittle.statistics.intervals import Bounds, betting_bounds, finite_bounds, rounds_bounds

KIND = "robustness"
IMAGES_BETWEEN_STOPS = 32


@register(KIND)
@dataclass(frozen=True)
class Robustness(RobustnessOptions, Measure):
    """µ̂(x) per image and ρ̂ over the set, under draws from the nuisance's prior."""

    reads: ClassVar[tuple[Read, ...]] = (CLEAN,)

    @property
    def stops(self) -> bool:
        """Whether a tolerance may end the plan early."""
        return self.tolerance is not None

    @property
    def draws(self) -> int:
        """The most draws an image can get."""
        if self.samples is not None:
            return self.samples
        return 100 if self.tolerance is None else 1000 if self.estimand == "set" else 10

    def check(self, about: About, asked: Asked) -> None:
        wanted, there = (None, 0) if about.subject is None else (about.subject.asked, about.subject.population)
        if self.estimand == "set" and wanted is not None and wanted < there:
            raise BrittleError(
                f"estimand 'set' uses every image, but only {wanted} of {there} are asked for",
                "Leave the count out, or use the estimand 'drawn'.",
            )

    def plan(self, about: About) -> Grid:
        """The units in planned order; with a tolerance they are small, since stopping looks at their ends."""
        images, rows, columns = about.count, rows_per_unit(about.numbers), {"draw": np.arange(self.draws)}
        if self.estimand == "set":
            rounds = 1 if self.stops else max(1, rows // images)
            return Grid(images, self.draws, min(images, rows), rounds, by_round=True, columns=columns)
        per_unit = IMAGES_BETWEEN_STOPS if self.stops else max(1, rows // self.draws)
        return Grid(images, self.draws, per_unit, min(self.draws, rows), columns=columns)

    @torch.inference_mode()
    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        about, device = task.about, task.device
        assert about.nuisance is not None
        drawn = Drawn(about.nuisance, stream_root(about.seed, about.stream, device))
        right = {name: references(task, name) for name in task.classifiers}
        said = task.answers.all(task.pairs.rows.to(device), {"draw": task.pairs.axis.to(device)}, drawn, right)
        return {name: partial(_tables, task, pending) for name, pending in said.outcomes.items()}

    def fold(self, about: About) -> RobustnessFold:
        return RobustnessFold(self, about)

    def summarise(self, run: RunView) -> dict[str, Any]:
        return summarise_run(self, run) | {BESIDE: beside(run, "under the nuisance")}

    def tally(self, images: int) -> Tally:
        return Tally(images, self.worst_of, self.draws if self.estimand == "set" else 0)

    def bounds(
        self,
        per_image: Array,
        by_round: Array | None,
        *,
        planned: int,
        population: int,
        confidence: float,
        draws: int,
        share: float,
        paired: bool,
    ) -> Bounds:
        """The interval for the mean of `per_image` (…, M); estimand `set` reads `by_round` (…, R, M) instead.

        `planned` images were meant to be read, a `share` of the plan: where a tolerance stops the reading of all, an
        interval for a share of them can be expected to be wider by the root of it.
        """
        support = (-1.0, 1.0) if paired else (0.0, 1.0)
        target = None if self.tolerance is None else min(0.5, self.tolerance / math.sqrt(share))
        if self.estimand == "population":
            return betting_bounds(per_image, confidence, planned=planned, target=target, support=support)
        if self.estimand == "drawn":
            return finite_bounds(
                per_image,
                confidence,
                population=population,
                draws=draws,
                planned=planned,
                target=target,
                support=support,
            )
        assert by_round is not None
        return rounds_bounds(by_round, confidence, planned=draws, target=target, support=support)


def _tables(task: Task, pending: PendingOutcome) -> Tables:
    """Fetched from the device, and refused where an answer is not a distribution."""
    columns, pairs = pending().columns(), task.pairs
    rows, draws = pairs.rows.numpy(), pairs.axis.numpy()
    bad = first_bad(columns)
    if bad is not None:
        raise BadAnswer(int(rows[bad.row]), bad.wrong, draw=int(draws[bad.row]))
    return {ROWS: numbering_draws(pa.table(task.keys("draw") | columns), "draw")}
