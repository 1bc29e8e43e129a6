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
import pyarrow as pa
import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.measures import register
from brittle.measures.answers import At, Notes, PendingOutcome
from brittle.measures.base import ROWS, About, Asked, BadAnswer, Measure, Pending, Read, RunView, Tables, Task, tested
from brittle.measures.changes import UnderNuisance
from brittle.measures.clean.measure import READ as CLEAN
from brittle.measures.distortion import BESIDE, beside
from brittle.measures.draws import draw_theta
from brittle.measures.occlusion.options import OcclusionOptions
from brittle.measures.occlusion.summary import summarise_run
from brittle.measures.outcomes import first_bad
from brittle.measures.plan import Grid, rows_per_unit
from brittle.random import stream_root
from brittle.types import Batch, HidesPixels, HidesShare, Nuisance

KIND = "occlusion"
KEPT = ("predicted", "rank", "log_p_label", "log_p_predicted")


@register(KIND)
@dataclass(frozen=True)
class Occlusion(OcclusionOptions, Measure):
    """Accuracy as more and more of an image is hidden, on test images and on those that were trained on."""

    reads: ClassVar[tuple[Read, ...]] = (CLEAN,)

    def shares_of(self, nuisance: Nuisance) -> tuple[float | None, ...]:
        """The hidden shares, in rising order; a single None where the nuisance draws its own."""
        exact = isinstance(nuisance, HidesShare) and nuisance.share_is_exact
        return tuple(sorted(set(self.shares))) if exact else (None,)

    def image_sets(self, asked: Sequence[str], trained_on: Mapping[str, str]) -> dict[str, bool]:
        return {trained_on[name]: True for name in asked if name in trained_on}

    def check(self, about: About, asked: Asked) -> None:
        if not isinstance(about.nuisance, HidesPixels):
            raise BrittleError(
                f"occlusion is measured under nuisances that hide pixels, and {about.nuisance_name!r} does not",
                'Name others for it: nuisances = ["patch", "fourier-mask"].',
            )
        if about.subject is not None and bool((about.subject.labels < 0).any()):
            raise BrittleError(
                f"occlusion is about accuracy, and images of {about.subject.name!r} have no label",
                "Use images with labels.",
            )

    def nuisances(self) -> tuple[str, ...]:
        return ("patch", "fourier-mask", "tiles")

    def plan(self, about: About) -> Grid:
        assert about.nuisance is not None
        shares = len(self.shares_of(about.nuisance))
        points, rows = self.repeats * shares, rows_per_unit(about.numbers)
        columns = {"repeat": np.arange(self.repeats).repeat(shares), "place": np.tile(np.arange(shares), self.repeats)}
        return Grid(about.count, points, max(1, rows // points), min(points, rows), columns=columns)

    @torch.inference_mode()
    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        nuisance, device = task.about.nuisance, task.device
        assert isinstance(nuisance, HidesPixels)
        shares, points = self.shares_of(nuisance), task.pairs.axis.to(device)
        at = {"draw": points // len(shares)}
        if shares[0] is not None:
            at["share"] = torch.tensor(shares, dtype=torch.float64, device=device)[points % len(shares)]
        hiding = Hiding(nuisance, stream_root(task.about.seed, task.about.stream, device))
        said = task.answers.all(task.pairs.rows.to(device), at, hiding, task.labels)
        hidden = said.notes["hidden"]
        return {name: partial(_tables, task, each, hidden, len(shares)) for name, each in said.outcomes.items()}

    def summarise(self, run: RunView) -> dict[str, Any]:
        # Of images that were trained on the DI index says nothing.
        return summarise_run(self, run) | {BESIDE: beside(run, "over all hidden shares", tested(run.images))}


@dataclass(frozen=True)
class Hiding(UnderNuisance):
    """A drawn mask over images, grown or shrunk to the `share` that is asked for; notes the share `hidden` of each."""

    nuisance: HidesPixels
    root: Tensor

    def make(self, batch: Batch, at: At) -> tuple[Tensor, Notes]:
        nuisance, theta = self.nuisance, draw_theta(self.nuisance, batch, at["draw"], self.root)
        if isinstance(nuisance, HidesShare) and "share" in at:
            theta = nuisance.with_share(theta, at["share"])
        hidden = nuisance.hidden_pixels(theta, batch).flatten(1).float().mean(1)
        return nuisance.apply(batch, theta), {"hidden": hidden}


def _tables(task: Task, pending: PendingOutcome, hidden: Tensor, shares: int) -> Tables:
    columns, pairs = pending().columns(), task.pairs
    points = pairs.axis.numpy()
    bad = first_bad(columns)
    if bad is not None:
        raise BadAnswer(int(pairs.rows[bad.row]), bad.wrong, draw=int(points[bad.row]) // shares)
    return {
        ROWS: pa.table(
            task.keys()
            | {"repeat": (points // shares).astype(np.int32), "place": (points % shares).astype(np.int32)}
            | {"hidden": hidden.cpu().numpy()}
            | {name: columns[name] for name in KEPT}
        )
    }
