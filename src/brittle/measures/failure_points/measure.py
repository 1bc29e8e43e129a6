"""Failure points (CNS-Bench 2025, equation 3): s = min{S | f(X(S)) ≠ c}, the first severity at which an image is wrong.

Every image is followed along a path: θ and key are drawn once, and severity rises from 0, whose answer is the clean
one. All answers on the way are kept, since an image may be right again further along; with `only=first` a path ends at
its first failure. The label is what counts as right, so images without one are left out. Paths through stored images
may begin above 0; then it is not known which images are right there, and all are followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.errors import BrittleError
from brittle.measures import register
from brittle.measures.answers import PendingOutcome
from brittle.measures.base import (
    ALONG_PATHS,
    ROWS,
    About,
    BadAnswer,
    Measure,
    MeasureInputs,
    Pending,
    RunView,
    Tables,
    Task,
    tabled,
    values_by_id,
)
from brittle.measures.clean.measure import READ as CLEAN
from brittle.measures.criteria import left_prediction
from brittle.measures.distortion import INTERFERENCE_KEY, interference_rows
from brittle.measures.draws import check_path
from brittle.measures.failure_points.options import FailurePointsOptions
from brittle.measures.failure_points.summary import summarise_run
from brittle.measures.failure_points.trajectories import REFINED, PathFold
from brittle.measures.lanes import State, lane_size
from brittle.measures.outcomes import Outcome
from brittle.measures.paths import Paths, Walk
from brittle.measures.plan import Grid, rows_per_unit
from brittle.measures.severities import Severities, followable, scale_of, severities_of
from brittle.measures.sweep import Brackets, Course, PathOutcomes, narrow_brackets, path_outcomes

KIND = "failure-points"


class PathResults(NamedTuple):
    """What one classifier said along its paths, and where failures lie between two severities of the grid."""

    paths: Paths
    trails: PathOutcomes
    narrowed: tuple[Paths, Brackets] | None


@register(KIND)
@dataclass(frozen=True)
class FailurePoints(FailurePointsOptions, Measure):
    """The severity at which the prediction becomes wrong, per image and path, and accuracy at every severity."""

    over: ClassVar = ALONG_PATHS
    reads: ClassVar = (CLEAN,)

    def grid(self, about: About) -> Severities:
        return severities_of(about.nuisance, self.severities, self.step, self.limit)

    def check(self, about: About, asked: MeasureInputs) -> None:
        self.grid(about)
        check_path(about)
        if about.images and not (about.subject.labels >= 0).any():
            raise BrittleError(
                f"the images of {about.subject.name!r} have no labels, so no answer is wrong",
                "Give labels, or use breaking-points, which asks when predictions leave the clean ones.",
            )
        stored = scale_of(about.nuisance).fixed
        if stored and self.repeats > 1:
            raise BrittleError(
                f"{about.nuisance_name!r} has one stored path per image, and {self.repeats} are asked for",
                "Leave the repeats out.",
            )
        if stored and self.tolerance is not None:
            raise BrittleError(
                f"{about.nuisance_name!r} has images at some scales only, so nothing can be narrowed between them",
                "Leave the tolerance out.",
            )

    def plan(self, about: About) -> Grid:
        """A unit is some images with a few of their paths, each at every severity: the axis is repeat × severity."""
        places, rows = len(self.grid(about).values), rows_per_unit(about.numbers)
        paths = max(1, rows // places)
        repeats = min(self.repeats, paths)
        columns = {"repeat": np.arange(self.repeats).repeat(places), "place": np.tile(np.arange(places), self.repeats)}
        per_unit = max(1, paths // repeats)
        return Grid(about.count, self.repeats * places, per_unit, repeats * places, columns=columns)

    @torch.inference_mode()
    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        severities = self.grid(task.about).tensor(task.device)
        if self.only == "first":
            found = {name: self._until_failure(task, name, severities) for name in task.classifiers}
        else:
            found = self._to_the_end(task, severities)
        return {name: partial(_tables, task, severities, each) for name, each in found.items()}

    def _to_the_end(self, task: Task, severities: Tensor) -> dict[str, PathResults]:
        """T_θ x is computed once, and every classifier sees it."""
        walk, paths, places = Walk(task), _followed(task, len(severities)), len(severities)

        def submit(path: Tensor, state: State, place: Tensor) -> PendingOutcome:
            return walk.all(paths.rows[path], state, severities[place])

        count = len(paths.rows)
        whole = path_outcomes(Course(count, task.batch_size, walk.begin(paths), submit, task.device), places)
        found = {}
        for at, name in enumerate(task.classifiers):
            # Without a path nothing was said, and there is no axis of classifiers.
            said = Outcome(*(each[..., at] if count else each for each in whole.outcome))
            found[name] = self._path_results(walk, name, paths, PathOutcomes(said, whole.last), severities)
        return found

    def _until_failure(self, task: Task, name: str, severities: Tensor) -> PathResults:
        """Images that are wrong at 0 have failed already."""
        walk, paths = Walk(task), _followed(task, len(severities), _right(task, name))

        def submit(path: Tensor, state: State, place: Tensor) -> PendingOutcome:
            return walk.submit(name, paths.rows[path], state, severities[place], task.labels[name])

        size = lane_size(task.batch_size, task.device)
        course = Course(len(paths.rows), size, walk.begin(paths), submit, task.device)
        return self._path_results(
            walk, name, paths, path_outcomes(course, len(severities), left_prediction), severities
        )

    def _path_results(
        self, walk: Walk, name: str, paths: Paths, found: PathOutcomes, severities: Tensor
    ) -> PathResults:
        if self.tolerance is None:
            return PathResults(paths, found, None)
        task = walk.task
        seen = torch.arange(len(severities), device=task.device) <= found.last[:, None]
        wrong = left_prediction(found.outcome) & seen
        right = torch.from_numpy(_right(task, name)).to(task.device)[paths.rows]
        own = (wrong.any(1) & right).nonzero()[:, 0]
        chosen, at = paths.some(own), wrong[own].to(torch.uint8).argmax(1)
        ends = torch.cat((severities.new_zeros(1), severities))

        def submit(path: Tensor, state: State, severity: Tensor) -> PendingOutcome:
            return walk.submit(name, chosen.rows[path], state, severity, task.labels[name])

        size, width = lane_size(task.batch_size, task.device), self.tolerance / self.grid(task.about).per_severity
        course = Course(len(own), size, walk.begin(chosen), submit, task.device)
        return PathResults(
            paths, found, (chosen, narrow_brackets(course, ends[at], ends[at + 1], width, left_prediction))
        )

    def fold(self, about: About) -> PathFold:
        return PathFold(about.subject, self.grid(about).tensor().numpy(), self.repeats)

    def summarise(self, run: RunView) -> dict[str, Any]:
        said = summarise_run(self, run)
        return (
            said if self.only == "first" else said | {INTERFERENCE_KEY: interference_rows(run, "over all severities")}
        )


def _right(task: Task, classifier: str) -> NDArray[np.bool_]:
    """(B,) whether the clean image is classified correctly; True where there is none."""
    if not task.about.subject.origin:
        return np.ones(len(task.ids), bool)
    return np.asarray(values_by_id(task.given[classifier][CLEAN.kind][ROWS], "rank", task.ids) == 0, bool)


def _followed(task: Task, places: int, wanted: NDArray[np.bool_] | None = None) -> Paths:
    """The paths of images that have a label and are stored at every scale, and that are `wanted` (B,)."""
    subject = task.about.subject
    there = (subject.labels[subject.places(task.ids)] >= 0) & followable(task.nuisance, task.ids)
    rows, axis = (each.view(-1, places)[:, 0] for each in (task.pairs.rows, task.pairs.axis))
    number = (there if wanted is None else there & wanted)[rows.numpy()].nonzero()[0]
    kept = torch.from_numpy(number)
    repeats = axis[kept].div(places, rounding_mode="floor")
    return Paths(number, rows[kept].to(task.device), repeats.to(task.device))


def _tables(task: Task, severities: Tensor, found: PathResults) -> Tables:
    """A row per path and severity that was looked at, and one per failure that was narrowed."""
    paths, severity = found.paths, severities.cpu().numpy()
    seen = np.arange(len(severity)) <= found.trails.last.cpu().numpy()[:, None]
    path, place = seen.nonzero()
    said = found.trails.outcome.take(torch.from_numpy(seen).to(task.device))
    images = paths.rows.cpu().numpy()[path]
    columns = task.fetched(said, images, where=lambda row: f" at severity {severity[place[row]]:g}")
    keys = {name: values[path] for name, values in _keys(task, paths, len(severity)).items()}
    at = {"place": place.astype(np.int32), "severity": severity[place]}
    told = dict(tabled(keys | at | columns, drawn="repeat"))
    if found.narrowed is not None:
        chosen, brackets = found.narrowed
        finite = brackets.finite.cpu().numpy()
        if not finite.all():
            where = int(finite.argmin())
            high = float(brackets.high[where])
            raise BadAnswer(int(chosen.rows[where]), f"NaN or infinite outputs just below severity {high:g}")
        ends = {"low": brackets.low, "high": brackets.high, "calls": brackets.calls}
        told[REFINED] = tabled(_keys(task, chosen, len(severity)) | ends)[ROWS]
    return told


def _keys(task: Task, paths: Paths, places: int) -> dict[str, NDArray[Any]]:
    """The first columns of a table with a row per path."""
    own = {name: values[paths.number * places] for name, values in task.keys().items()}
    return own | {"repeat": paths.repeats.cpu().numpy().astype(np.int32)}
