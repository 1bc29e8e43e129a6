"""Affinity (Gontijo-Lopes et al. 2020): accuracy on augmented test images minus that on clean ones, usually negative.

An augmentation that mixes two images is measured in pairs: the planned order is random, and its images 2k and 2k + 1
are mixed with each other, each once with the larger share for every draw. The label is the majority's, as Marcu &
Prügel-Bennett 2022 (section 4) have it, and λ ~ Beta(α + 1, α). Pairs are disjoint, so that they are independent.
Diversity, the final training loss of a classifier trained so, comes from what its weights or its entry say of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.errors import BrittleError
from brittle.measures import register
from brittle.measures.answers import PendingOutcome
from brittle.measures.augmentation.augmented import SHARE, augmented, in_pairs, opened
from brittle.measures.augmentation.options import AugmentationOptions
from brittle.measures.augmentation.summary import summarise_run
from brittle.measures.base import (
    CLASSIFIER,
    IMAGES,
    ROWS,
    About,
    Asked,
    BadAnswer,
    ClassifierFacts,
    Measure,
    Pending,
    Read,
    RunView,
    Tables,
    Task,
)
from brittle.measures.clean.measure import READ as CLEAN
from brittle.measures.outcomes import first_bad, joined
from brittle.measures.plan import NO_UNITS, Grid, Plan, rows_per_unit
from brittle.mixing import mixes
from brittle.nuisances import nuisances

KIND = "augmentation"
KEPT = ("predicted", "rank", "log_p_label", "log_p_predicted")


@register(KIND)
@dataclass(frozen=True)
class Augmentation(AugmentationOptions, Measure):
    """Affinity of augmentations, by the accuracy of reference classifiers, and their diversity beside it."""

    over: ClassVar[frozenset[str]] = frozenset({CLASSIFIER, IMAGES})
    reads: ClassVar[tuple[Read, ...]] = (CLEAN,)

    @property
    def runs_code(self) -> bool:
        return any(mixes.runs_code(spec) or nuisances.runs_code(spec) for spec in self.of)

    def check(self, about: About, asked: Asked) -> None:
        assert about.subject is not None
        if not self.of:
            raise BrittleError("no augmentation is named", 'Name some: of = ["mixup", "fmix"].')
        twice = next((spec for spec in self.of if self.of.count(spec) > 1), None)
        if twice is not None:
            raise BrittleError(f"augmentation: of names {twice} twice", "Name each augmentation once.")
        for spec in self.of:
            what = opened(spec)
            if not in_pairs(what) and hasattr(what, "check"):
                what.check(about.subject.shape)
            elif in_pairs(what) and about.count < 2:
                raise BrittleError(f"{spec} mixes two images, and there is one", "Use at least two images.")
        if bool((about.subject.labels < 0).any()):
            raise BrittleError(
                f"affinity is about accuracy, and images of {about.subject.name!r} have no label",
                "Use images with labels.",
            )

    def is_reference(self, facts: ClassifierFacts | None) -> bool:
        return self.reference is None or (facts is not None and self.reference in (facts.name, facts.group))

    def plan(self, about: About) -> Plan:
        """Both images of a pair are in one unit."""
        if not self.is_reference(about.classifier):
            return NO_UNITS
        points, rows = len(self.of) * self.samples, rows_per_unit(about.numbers)
        return Grid(about.count, points, max(2, rows // points // 2 * 2), points, columns=self._columns(about))

    def _columns(self, about: About) -> dict[str, NDArray[Any]] | None:
        """Where images are mixed in pairs, the last of an odd number lacks a partner that more images would give it."""
        if about.count % 2 and any(in_pairs(opened(spec)) for spec in self.of):
            return None
        return {
            "augmentation": np.arange(len(self.of)).repeat(self.samples),
            "draw": np.tile(np.arange(self.samples), len(self.of)),
        }

    @torch.inference_mode()
    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        """Augmentation by augmentation, and then in planned order again."""
        rows, points = task.pairs.rows, task.pairs.axis
        partner = _partners(task)
        other = torch.from_numpy(partner)[rows]
        parts, shares, said = [], [], []  # places among the pairs, of each the share that is its own, and its answers
        for number, spec in enumerate(self.of):
            what = opened(spec)
            here = ((points // self.samples == number) & ((other >= 0) | (not in_pairs(what)))).nonzero()[:, 0]
            at = {"draw": points[here] % self.samples, "partner": other[here].clamp(min=0)}
            found = task.answers.all(
                rows[here].to(task.device),
                {name: values.to(task.device) for name, values in at.items()},
                augmented(what, task.answers.batch.images, task.about.seed),
                task.labels,
            )
            parts.append(here)
            shares.append(found.notes.get(SHARE, torch.ones(len(here))))
            said.append(found.outcomes)
        places = torch.cat(parts)
        return {
            name: partial(self._tables, task, places, shares, [each[name] for each in said], partner)
            for name in task.labels
        }

    def _tables(
        self,
        task: Task,
        places: Tensor,
        shares: Sequence[Tensor],
        said: Sequence[PendingOutcome],
        partner: NDArray[np.int64],
    ) -> Tables:
        order = torch.argsort(places)
        at = places[order].numpy()
        found = joined([pending() for pending in said]).columns()
        columns = {name: values[order.numpy()] for name, values in found.items()}
        rows, points = task.pairs.rows.numpy()[at], task.pairs.axis.numpy()[at]
        bad = first_bad(columns)
        if bad is not None:
            raise BadAnswer(int(rows[bad.row]), f"{bad.wrong} under {self.of[points[bad.row] // self.samples]}")
        mixed = np.array([in_pairs(opened(spec)) for spec in self.of])[points // self.samples]
        return {
            ROWS: pa.table(
                {name: values[at] for name, values in task.keys().items()}
                | {"augmentation": (points // self.samples).astype(np.int32)}
                | {"draw": (points % self.samples).astype(np.int32)}
                | {"partner": np.where(mixed, task.ids[np.maximum(partner[rows], 0)], -1)}
                | {"share": torch.cat([share.cpu() for share in shares]).numpy()[order.numpy()]}
                | {name: columns[name] for name in KEPT}
            )
        }

    def summarise(self, run: RunView) -> dict[str, Any]:
        return summarise_run(self, run)


def _partners(task: Task) -> NDArray[np.int64]:
    """For each image of the batch the row of the one that it is mixed with; −1 for the last of an odd number."""
    subject = task.about.subject
    assert subject is not None
    places = subject.places(task.ids)
    row_of = np.full(len(subject) + 1, -1, dtype=np.int64)
    row_of[places] = np.arange(len(places))
    theirs = places ^ 1
    found: NDArray[np.int64] = row_of[np.minimum(theirs, len(subject))]
    lost = (found < 0) & (theirs < len(subject))
    if lost.any():
        first, second = (subject.names[int(each[lost][0])] for each in (places, theirs))
        raise BrittleError(
            f"{first} and {second} differ in shape and can't be mixed", "Bring images to one size: size=…, crop=…."
        )
    return found
