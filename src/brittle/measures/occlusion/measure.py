"""CutOcclusion and iOcclusion (Marcu & Prügel-Bennett 2022, sections 2.2 and 3): accuracy as more and more is hidden.

CutOcclusion is the accuracy on occluded test images. iOcclusion compares how occlusion changes the gap between training
and test images with the gap itself,

    iOcclusion_p = (A(train^p) − A(test^p)) / (A(train) − A(test)),

where A(D^p) is the accuracy on images of which the share p is hidden. It is exactly 1 for a classifier that occlusion
leaves untouched, 0 where both are at chance, and above 1 where occlusion widens the gap.

Along one path an image is hidden more and more: the same mask grows. A nuisance whose share is itself drawn has a
single point, as it is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.errors import BrittleError
from brittle.measures import register
from brittle.measures.answers import At, Notes, PendingOutcome
from brittle.measures.base import (
    About,
    Measure,
    MeasureInputs,
    Pending,
    RunView,
    Tables,
    Task,
    evaluated_image_sets,
    tabled,
)
from brittle.measures.changes import UnderNuisance
from brittle.measures.clean.measure import READ as CLEAN
from brittle.measures.distortion import INTERFERENCE_KEY, interference_rows
from brittle.measures.draws import draw_theta
from brittle.measures.folds import ImageSums
from brittle.measures.occlusion.options import OcclusionOptions
from brittle.measures.occlusion.summary import summarise_run, sums_by_share
from brittle.measures.plan import Grid, rows_per_unit
from brittle.types import Batch, HidesPixels, HidesShare, Nuisance

KIND = "occlusion"
KEPT = ("predicted", "rank", "log_p_label", "log_p_predicted")


@register(KIND)
@dataclass(frozen=True)
class Occlusion(OcclusionOptions, Measure):
    """Accuracy as more and more of an image is hidden, on test images and on those that were trained on."""

    reads: ClassVar = (CLEAN,)

    def shares_of(self, nuisance: Nuisance | None) -> tuple[float | None, ...]:
        """The hidden shares, in rising order; a single None where the nuisance draws its own."""
        exact = isinstance(nuisance, HidesShare) and nuisance.share_is_exact
        return tuple(sorted(set(self.shares))) if exact else (None,)

    def image_sets(self, asked: Sequence[str], trained_on: Mapping[str, str]) -> dict[str, bool]:
        return {trained_on[name]: True for name in asked if name in trained_on}

    def check(self, about: About, asked: MeasureInputs) -> None:
        if not isinstance(about.nuisance, HidesPixels):
            raise BrittleError(
                f"occlusion is measured under nuisances that hide pixels, and {about.nuisance_name!r} does not",
                'Name others for it: nuisances = ["patch", "fourier-mask"].',
            )
        about.refuse_unlabelled("occlusion is about accuracy")

    def nuisances(self) -> tuple[str, ...]:
        return ("patch", "fourier-mask", "tiles")

    def plan(self, about: About) -> Grid:
        columns, rows = self._columns(about.nuisance), rows_per_unit(about.numbers)
        points = len(columns["repeat"])
        return Grid(about.count, points, max(1, rows // points), min(points, rows), columns=columns)

    def _columns(self, nuisance: Nuisance | None) -> dict[str, NDArray[np.int64]]:
        shares = len(self.shares_of(nuisance))
        return {"repeat": np.arange(self.repeats).repeat(shares), "place": np.tile(np.arange(shares), self.repeats)}

    def fold(self, about: About) -> ImageSums:
        return sums_by_share(about.subject, len(self.shares_of(about.nuisance)))

    @torch.inference_mode()
    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        nuisance = task.nuisance
        assert isinstance(nuisance, HidesPixels)
        shares = self.shares_of(nuisance)
        at = {"draw": task.axis // len(shares)}
        if shares[0] is not None:
            at["share"] = torch.tensor(shares, dtype=torch.float64, device=task.device)[task.axis % len(shares)]
        said = task.answers.all(task.rows, at, MaskedShare(nuisance, task.root()), task.labels)
        return {name: partial(self._tables, task, each, said.notes["hidden"]) for name, each in said.outcomes.items()}

    def _tables(self, task: Task, pending: PendingOutcome, hidden: Tensor) -> Tables:
        keys = task.keys(self._columns(task.nuisance))
        columns = task.fetched(pending(), draws=keys["repeat"])
        return tabled(keys | {"hidden": hidden} | {name: columns[name] for name in KEPT})

    def summarise(self, run: RunView) -> dict[str, Any]:
        # Of images that were trained on the DI index says nothing.
        return summarise_run(self, run) | {
            INTERFERENCE_KEY: interference_rows(run, "over all hidden shares", evaluated_image_sets(run.images))
        }


@dataclass(frozen=True)
class MaskedShare(UnderNuisance):
    """A drawn mask over images, grown or shrunk to the `share` that is asked for; notes the share `hidden` of each."""

    nuisance: HidesPixels
    root: Tensor

    def make(self, batch: Batch, at: At) -> tuple[Tensor, Notes]:
        nuisance, theta = self.nuisance, draw_theta(self.nuisance, batch, at["draw"], self.root)
        if isinstance(nuisance, HidesShare) and "share" in at:
            theta = nuisance.with_share(theta, at["share"])
        hidden = nuisance.hidden_pixels(theta, batch).flatten(1).float().mean(1)
        return nuisance.apply(batch, theta), {"hidden": hidden}
