"""Targeted perturbations (UREM, section 4): how far each image must be changed until p(target) ≥ 0.9.

Every pair of an image and a target is searched by itself, thousands at once. What an image is changed away from is the
classifier's own clean prediction, so that the least change over targets is known without a label; wrong images are
searched like the others. Searches that fail are rows like any other.
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
from brittle.imagenet import ids, shown, taken_for_imagenets
from brittle.measures import register
from brittle.measures.base import (
    ON_IMAGES,
    ROWS,
    About,
    ClassifierFacts,
    ImageSetFacts,
    Measure,
    MeasureInputs,
    Pending,
    RunView,
    Task,
)
from brittle.measures.clean.measure import READ as CLEAN
from brittle.measures.clean.measure import predictions
from brittle.measures.folds import KeptRows
from brittle.measures.lanes import lane_size
from brittle.measures.perturbation.evaluation import (
    BATCHES_AT_ONCE,
    TRANSFER,
    EvaluatedPairs,
    TargetPairs,
    evaluate_changes,
    tables,
)
from brittle.measures.perturbation.options import PerturbationOptions
from brittle.measures.perturbation.signs import sign_search
from brittle.measures.perturbation.summary import summarise_perturbation
from brittle.measures.perturbation.targets import ALL, NONE, named_classes, slots, target_of
from brittle.measures.plan import Grid, Plan, Unit, UnitList
from brittle.measures.targeted_search import UNTARGETED, Search, SearchGoal, SearchResult, adam_search
from brittle.random import fold
from brittle.types import Differentiable

KIND = "perturbation"
PAIRS_PER_UNIT, FEWEST_PAIRS, NUMBERS_PER_UNIT = 1024, 64, 1 << 20
PICTURED = 16  # images, the first in planned order, of which changed copies are kept
KEPT = ("image", "target", "origin", "reached", "linf", "l2", "left", "calls",
        "rounded_log_p", "rounded_predicted", "jpeg_log_p", "jpeg_predicted")  # fmt: skip
BEYOND = 64.0  # ε at which the baselines give up where values are not held to [0, 1]


@register(KIND)
@dataclass(frozen=True)
class Perturbation(PerturbationOptions, Measure):
    """The change of an image at which a classifier gives another class with the probability asked for."""

    over: ClassVar = ON_IMAGES
    reads: ClassVar = (CLEAN,)
    needs: ClassVar = (Differentiable,)

    @property
    def targeted(self) -> bool:
        return self.method != "fgsm" and self.targets != (NONE,)

    def check(self, about: About, asked: MeasureInputs) -> None:
        if self.method == "fgsm" and self.targets not in ((ALL,), (NONE,)):
            raise BrittleError("perturbation: fgsm has no targets", "Use t-fgsm, or leave them out.")
        if self.method in ("adam", "t-fgsm") and self.targets == (NONE,):
            raise BrittleError(f"perturbation: {self.method} needs targets", "Use fgsm or i-fgsm for none.")
        self._axis(about)

    def _axis(self, about: About) -> int:
        """Targets of an image."""
        classes = len(about.classifier.labels)
        return slots(self._named(about, about.classifier), classes, self.draw) if self.targeted else 1

    def _named(self, about: About, classifier: ClassifierFacts) -> list[int]:
        """The targets that are named; a classifier without names of its own has those of the image set's classes."""
        labels, named = list(classifier.labels), classifier.named
        classes = about.subject.classes
        if taken_for_imagenets(labels, named, classes):
            labels = list(map(shown, ids()))
        elif not named:
            labels[: len(classes)] = classes[: len(labels)]
        return named_classes(self.targets, labels)

    def places(self, subject: ImageSetFacts) -> list[int]:
        """The images that are changed."""
        labels = subject.labels[: self.count].tolist()
        if self.per_class is None:
            return list(range(len(labels)))
        seen, found = dict.fromkeys(labels, 0), []
        for place, label in enumerate(labels):
            seen[label] += 1
            if seen[label] <= self.per_class:
                found.append(place)
        return found

    def plan(self, about: About) -> Plan:
        """A unit is some images with all of their targets, or one with some of them where they are many."""
        places, axis = self.places(about.subject), self._axis(about)
        pairs = max(FEWEST_PAIRS, min(PAIRS_PER_UNIT, NUMBERS_PER_UNIT // about.numbers))
        grid = Grid(len(places), axis, max(1, pairs // axis), min(axis, pairs), columns={})
        if self.per_class is None:
            return grid
        return UnitList([Unit(tuple(places[inside] for inside in unit.images), unit.axis) for unit in grid], columns={})

    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        pictured = task.about.subject.ids[self.places(task.about.subject)[:PICTURED]]
        shown = np.isin(task.ids, pictured)
        return {name: partial(tables, task, self._searched(task, name), shown) for name in task.classifiers}

    def fold(self, about: About) -> KeptRows:
        """About 50 bytes per image and target; transfers between classifiers are few."""
        return KeptRows({ROWS: KEPT, TRANSFER: None})

    def summarise(self, run: RunView) -> dict[str, Any]:
        return summarise_perturbation(self, run)

    def _searched(self, task: Task, name: str) -> list[EvaluatedPairs]:
        """Whole units together, so that their changed images fit into memory."""
        pairs, parts = self.pairs(task, name), []
        for each in pairs.by_units(BATCHES_AT_ONCE * task.batch_size):
            some = pairs.take(each)
            parts.append(evaluate_changes(task, name, some, self.search(task, name, some), self.quality))
        return parts

    def pairs(self, task: Task, name: str) -> TargetPairs:
        """The images of the task with their targets, unit by unit."""
        units, rows, slot = (each.to(task.device) for each in task.pairs)
        origin = torch.from_numpy(predictions(task.given[name], task.ids)).to(task.device)[rows]
        if not self.targeted:
            return TargetPairs(units, rows, origin, torch.full_like(origin, UNTARGETED))
        classifier = task.facts[name]
        keys = fold(task.root(f"{KIND} targets"), task.batch.ids)[rows]
        candidates = self._named(task.about, classifier)
        target = target_of(candidates, len(classifier.labels), self.draw, origin, slot, keys)
        return TargetPairs(units, rows, origin, target).take(target != UNTARGETED)

    def search(self, task: Task, name: str, pairs: TargetPairs) -> SearchResult:
        """Finds a change for each pair."""
        classifier, images, rows = task.classifiers[name], task.batch.images, pairs.rows
        logits = classifier.logits  # type: ignore[attr-defined]
        bounds = (0.0, 1.0) if self.clip else None
        goal, size = SearchGoal(pairs.origin, pairs.target, self.share), lane_size(task.batch_size, rows.device)

        def start(pair: Tensor) -> Tensor:
            return images[rows[pair]]

        def answer(pair: Tensor, values: Tensor) -> Tensor:
            found: Tensor = logits(values)
            return found

        search = Search(len(rows), size, start, answer, goal, bounds, task.tick)
        if self.method == "adam":
            return adam_search(search, rate=self.rate, steps=self.steps, narrow=True)
        iterations = self.iterations if self.method == "i-fgsm" else 1
        return sign_search(search, iterations=iterations, greatest=BEYOND if bounds is None else 1.0)
