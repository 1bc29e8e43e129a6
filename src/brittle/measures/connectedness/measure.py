"""Connectedness of a class (UREM, sections 1.2 and 3): which of its images lie in one region, a bubble, of that class.

Two images are connected where a path between them never leaves the class: the straight segment if it stays inside, or
a curved path along which the log-odds run from those of the first image to those of the second. A pair for which none
is found is unknown, not disconnected, so that the number of bubbles is an upper bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import torch

from brittle.errors import BrittleError
from brittle.measures import register
from brittle.measures.base import (
    ON_IMAGES,
    ROWS,
    About,
    BadAnswer,
    Measure,
    MeasureInputs,
    Pending,
    Piece,
    RunView,
    Tables,
    Task,
)
from brittle.measures.connectedness.ida import require_ida
from brittle.measures.connectedness.options import ConnectednessOptions
from brittle.measures.connectedness.search import BubbleSearch, ClassImages
from brittle.measures.connectedness.summary import CHANGES, summarise_run
from brittle.measures.connectedness.tables import MEMBERS
from brittle.measures.folds import KeptRows
from brittle.measures.plan import Plan, Unit, UnitList
from brittle.memory import slices
from brittle.types import Differentiable

KIND = "connectedness"
SMALL = 64  # numbers of an image up to which IDA is what `auto` means
PAIRS_PER_IMAGE = 1.5  # for progress: not known beforehand


@register(KIND)
@dataclass(frozen=True)
class Connectedness(ConnectednessOptions, Measure):
    """Which images of a class lie in one region that the classifier gives that class. UREM means training images."""

    over: ClassVar = ON_IMAGES
    reads: ClassVar = (CHANGES,)
    needs: ClassVar = (Differentiable,)

    def uses_ida(self, numbers: int) -> bool:
        """Whether curved paths between images of so many numbers are found by IDA."""
        return self.method == "ida" or (self.method == "auto" and numbers <= SMALL)

    def check(self, about: About, asked: MeasureInputs) -> None:
        if not (about.subject.labels >= 0).any():
            raise BrittleError(
                f"the images of {about.subject.name!r} have no labels, and connectedness is about classes",
                "Give a labelled image set.",
            )
        if self.uses_ida(about.numbers):
            require_ida()

    def plan(self, about: About) -> Plan:
        """A unit is a class: the first of its images in planned order."""
        labels = about.subject.labels
        places = [np.flatnonzero(labels == label)[: self.per_class] for label in np.unique(labels[labels >= 0])]
        return UnitList([Unit(tuple(each.tolist()), range(1)) for each in places])

    def calls(self, unit: Unit) -> int:
        return len(unit.images) + int(PAIRS_PER_IMAGE * len(unit.images)) * self.points

    @torch.no_grad()
    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        return {
            name: _together([self._searched(task, name, each) for each in task.pieces]) for name in task.classifiers
        }

    def _searched(self, task: Task, name: str, piece: Piece) -> Pending:
        """A class by itself, so that nothing found in it depends on what else is computed with it."""
        classifier: Any = task.classifiers[name]
        rows = piece.rows.to(task.device)
        images, label = task.batch.images[rows], int(task.labels[name][rows[0]])
        logits = torch.cat([classifier.logits(images[part]) for part in slices(len(images), task.batch_size)])
        task.tick(len(images))
        bad = (~torch.isfinite(logits)).any(1).nonzero()
        if len(bad):
            return partial(_refused, int(rows[int(bad[0])]))
        seen = ClassImages(images, task.ids[piece.rows.numpy()], label, logits)
        ida = self.uses_ida(images[0].numel())
        return BubbleSearch(self, ida, classifier, seen, piece.unit, task.batch_size, task.tick).tables

    def fold(self, about: About) -> KeptRows:
        """About 70 bytes per pair that was tried, and 28 per image."""
        return KeptRows({ROWS: None, MEMBERS: None})

    def summarise(self, run: RunView) -> dict[str, Any]:
        return summarise_run(self, run)


def _together(classes: Sequence[Pending]) -> Pending:
    def tables() -> Tables:
        found = [each() for each in classes]
        return {name: pa.concat_tables([each[name] for each in found]) for name in found[0]}

    return tables


def _refused(image: int) -> Tables:
    raise BadAnswer(image, "NaN or infinite outputs")
