"""Affinity (Gontijo-Lopes et al. 2020): accuracy on augmented test images minus that on clean ones, usually negative.

An augmentation that mixes two images is measured in pairs: the planned order is random, and its images 2k and 2k + 1
are mixed with each other, each once with the larger share for every draw. The label is the majority's, as Marcu &
Prügel-Bennett 2022 (section 4) have it, and λ ~ Beta(α + 1, α). Pairs are disjoint, so that they are independent.
Diversity, the final training loss of a classifier trained so, comes from what its weights or its entry say of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.errors import BrittleError
from brittle.measures import register
from brittle.measures.answers import At, Change, PendingOutcome
from brittle.measures.augmentation.augmented import SHARE, augmented, in_pairs, opened
from brittle.measures.augmentation.options import AugmentationOptions
from brittle.measures.augmentation.summary import summarise_run, sums_by_augmentation
from brittle.measures.base import (
    ON_IMAGES,
    About,
    ClassifierFacts,
    Measure,
    MeasureInputs,
    Pending,
    RunView,
    Tables,
    Task,
    refuse_unknown,
    tabled,
)
from brittle.measures.clean.measure import READ as CLEAN
from brittle.measures.folds import ImageSums
from brittle.measures.plan import NO_UNITS, Columns, Grid, Plan, rows_per_unit
from brittle.mixing import mixes
from brittle.mixing.base import Mix
from brittle.nuisances import nuisances

KIND = "augmentation"
KEPT = ("predicted", "rank", "log_p_label", "log_p_predicted")


@register(KIND)
@dataclass(frozen=True)
class Augmentation(AugmentationOptions, Measure):
    """Affinity of augmentations, by the accuracy of reference classifiers, and their diversity beside it."""

    over: ClassVar = ON_IMAGES
    reads: ClassVar = (CLEAN,)

    @property
    def runs_code(self) -> bool:
        return any(mixes.runs_code(spec) or nuisances.runs_code(spec) for spec in self.of)

    def check(self, about: About, asked: MeasureInputs) -> None:
        if not self.of:
            raise BrittleError("no augmentation is named", 'Name some: of = ["mixup", "fmix"].')
        twice = next((spec for spec in self.of if self.of.count(spec) > 1), None)
        if twice is not None:
            raise BrittleError(f"augmentation: of names {twice} twice", "Name each augmentation once.")
        for spec in self.of:
            what = opened(spec)
            if not isinstance(what, Mix):
                what.check(about.subject.shape)
            elif what.pairs and about.count < 2:
                raise BrittleError(
                    f"{mixes.spec_of(what)} mixes two images, and there is one", "Use at least two images."
                )
        about.refuse_unlabelled("affinity is about accuracy")
        names = {each for facts in asked.classifiers.values() for each in (facts.name, facts.group) if each}
        if self.reference is not None:
            refuse_unknown(self.reference, names, "no classifier and no group is called {!r}, the reference")

    def is_reference(self, facts: ClassifierFacts) -> bool:
        return self.reference is None or self.reference in (facts.name, facts.group)

    def plan(self, about: About) -> Plan:
        """Both images of a pair are in one unit."""
        if not self.is_reference(about.classifier):
            return NO_UNITS
        points, rows = len(self.of) * self.samples, rows_per_unit(about.numbers)
        # Where images are mixed in pairs, the last of an odd number lacks a partner that more images would give it.
        alone = about.count % 2 and any(in_pairs(opened(spec)) for spec in self.of)
        columns = None if alone else self._columns
        return Grid(about.count, points, max(2, rows // points // 2 * 2), points, columns=columns)

    @property
    def _columns(self) -> Columns:
        draws = np.tile(np.arange(self.samples), len(self.of))
        return {"augmentation": np.arange(len(self.of)).repeat(self.samples), "draw": draws}

    @torch.inference_mode()
    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        which, partner = task.axis // self.samples, torch.from_numpy(_partners(task)).to(task.device)[task.rows]

        def asked() -> Iterator[tuple[Tensor, At, Change]]:
            for number, what in enumerate(map(opened, self.of)):
                here = ((which == number) & ((partner >= 0) | (not in_pairs(what)))).nonzero()[:, 0]
                at = {"draw": task.axis[here] % self.samples, "partner": partner[here].clamp(min=0)}
                yield here, at, augmented(what, task.answers.batch.images, task.about.seed)

        places, said, noted = task.by_change(asked(), task.labels)
        return {
            name: partial(self._tables, task, places, noted[SHARE], partner, pending) for name, pending in said.items()
        }

    def _tables(self, task: Task, places: Tensor, share: Tensor, partner: Tensor, pending: PendingOutcome) -> Tables:
        at, others = places.cpu().numpy(), partner.cpu().numpy()
        keys = {name: values[at] for name, values in task.keys(self._columns).items()}
        rows, number = task.pairs.rows.numpy()[at], keys["augmentation"]
        columns = task.fetched(pending(), rows, where=lambda row: f" under {self.of[number[row]]}")
        mixed = np.array([in_pairs(opened(spec)) for spec in self.of])[number]
        told = {"partner": np.where(mixed, task.ids[np.maximum(others[at], 0)], -1), "share": share}
        return tabled(keys | told | {name: columns[name] for name in KEPT})

    def fold(self, about: About) -> ImageSums:
        return sums_by_augmentation(about.subject, len(self.of))

    def summarise(self, run: RunView) -> dict[str, Any]:
        return summarise_run(self, run)


def _partners(task: Task) -> NDArray[np.int64]:
    """For each image of the batch the row of the one that it is mixed with; −1 for the last of an odd number."""
    subject = task.about.subject
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
