"""Robustness µ(x) and ρ under a nuisance's prior (Fawzi & Frossard 2016, equations 1 and 2), with intervals.

ρ is a mean confidence; beside it stand accuracy clean and under the nuisance, worst-of-k accuracy and
the flip rate. What is estimated is named, and each estimand has its own interval (see docs/statistics.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from numpy.typing import NDArray

from brittle.errors import BrittleError
from brittle.measures import register
from brittle.measures.base import Measure, Pending, RunView, Task
from brittle.measures.evaluate import evaluate_draws
from brittle.measures.plan import Unit, by_image, by_round, rows_per_unit
from brittle.measures.robustness.options import RobustnessOptions
from brittle.measures.robustness.summary import summarise_run
from brittle.measures.robustness.tally import Array, Tally
from brittle.measures.robustness.watch import Watch
from brittle.measures.rows import to_table
from brittle.statistics.intervals import Bounds, betting_bounds, finite_bounds, rounds_bounds


@register("robustness")
@dataclass(frozen=True)
class Robustness(RobustnessOptions, Measure):
    """µ̂(x) per image and ρ̂ over the set, under draws from the nuisance's prior."""

    @property
    def draws(self) -> int:
        """The most draws an image can get."""
        if self.samples is not None:
            return self.samples
        return 100 if self.tolerance is None else 1000 if self.estimand == "set" else 10

    name: ClassVar[str] = "robustness"

    def plan(self, images: int, numbers_per_image: int, numbers_of_theta: int) -> list[Unit]:
        """The units in planned order; with a tolerance they are small, since stopping looks at their ends."""
        rows = rows_per_unit(numbers_per_image)
        if self.estimand == "set":
            rounds = 1 if self.tolerance is not None else max(1, rows // images)
            return by_round(images, self.draws, min(images, rows), rounds)
        per_unit = max(1, rows // self.draws) if self.tolerance is None else 32
        return by_image(images, self.draws, per_unit, min(self.draws, rows))

    def check_images(self, asked: int | None, there: int) -> None:
        if self.estimand == "set" and asked is not None and asked < there:
            raise BrittleError(
                f"estimand 'set' uses every image, but only {asked} of {there} are asked for",
                "Leave the count out, or use the estimand 'drawn'.",
            )

    def evaluate(self, task: Task) -> dict[str, Pending]:
        found = evaluate_draws(
            task.batch,
            task.pairs,
            task.nuisance,
            task.stream,
            task.seed,
            task.classifiers,
            task.labels,
            task.batch_size,
        )
        return {name: partial(to_table, task.batch.ids, task.pairs, each) for name, each in found.items()}

    def watch(self, units: Sequence[Unit], images: int, population: int, clean: NDArray[Any]) -> Watch | None:
        return None if self.tolerance is None else Watch(self, units, images, population, clean)

    def summarise(self, run: RunView) -> dict[str, Any]:
        return summarise_run(self, run)

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
        """The interval for the mean of `per_image` (M,); estimand `set` reads `by_round` (R, M) instead.

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
