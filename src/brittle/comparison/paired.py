"""Paired differences of two runs: every number that both have, image by image and θ by θ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.comparison.comparable import (
    paired_classifiers,
    refuse_incomparable,
    refuse_other_measure,
    same_classifier,
)
from brittle.comparison.new_failures import Flips, flips
from brittle.comparison.recorded import ROBUSTNESS, Evaluations, RecordedRun, Row, evaluations
from brittle.engine.view import ImageSetSummary
from brittle.errors import BrittleError
from brittle.measures.base import Cell
from brittle.measures.designs import DESIGNS
from brittle.measures.robustness.options import Estimand
from brittle.statistics.estimate import Estimate
from brittle.statistics.intervals import simultaneous
from brittle.statistics.paired_change import ChangeDesign, items_to_tell, mean_change

Number = Literal["rho", "accuracy", "clean"]
NUMBERS: Mapping[Number, str] = {"rho": "ρ", "accuracy": "accuracy", "clean": "clean accuracy"}


class ComparedCell(NamedTuple):
    """One classifier under one nuisance in both runs; of untouched images without a nuisance."""

    measure: str
    classifier: str
    before: str  # what the classifier is called in the other run
    image_set: str
    nuisance: str
    same: bool  # whether it is known to be the same classifier


@dataclass(frozen=True)
class ChangedNumber:
    """How one number changed: the new run's minus the other's. `interval` holds together with those of the whole
    family; `own` by itself."""

    cell: ComparedCell
    number: Number
    before: float
    after: float
    difference: Estimate
    own: Estimate
    images: int
    draws: int
    design: ChangeDesign = field(repr=False)
    changes: NDArray[np.float64] = field(repr=False, compare=False)  # (S, M), or (1, M) where rounds don't matter

    @property
    def same(self) -> bool:
        return self.cell.same

    def state(self, allow: float) -> Literal["passed", "failed", "unsure"]:
        """Whether it fell by more than is allowed: known, known not to have, or not known."""
        if self.same:
            return "passed"
        return "failed" if self.difference.high < -allow else "passed" if self.difference.low >= -allow else "unsure"

    def to_tell(self, allow: float, confidence: float) -> int | None:
        """How many images, or draws of the estimand `set`, would tell."""
        return items_to_tell(self.changes, self.design, confidence, -allow)


class CellChanges(NamedTuple):
    """All that has changed in one cell."""

    cell: ComparedCell
    changes: list[ChangedNumber]
    flips: Flips


class Pair(NamedTuple):
    """What both runs said of the same images at the same θ."""

    cell: ComparedCell
    after: Evaluations
    before: Evaluations
    design: ChangeDesign


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side. `family` is how many intervals hold at once."""

    run: RecordedRun
    other: RecordedRun
    numbers: tuple[Number, ...]
    confidence: float
    classifiers: Mapping[str, str]

    @classmethod
    def of(
        cls,
        run: RecordedRun,
        other: RecordedRun,
        *,
        numbers: Sequence[Number] = ("rho", "accuracy"),
        confidence: float = 0.95,
        pairs: Sequence[str] = (),
    ) -> Comparison:
        """Refuses runs that can't be compared."""
        refuse_incomparable(run, other)
        made = cls(run, other, tuple(dict.fromkeys(numbers)), confidence, paired_classifiers(run, other, pairs))
        if not made.cells:
            raise BrittleError(
                f"{run.name} and {other.name} can't be compared: they have no result of one measure, classifier, image "
                "set and nuisance in common",
                "Measure the same in both: robustness, under nuisances of the same names.",
            )
        if not any(map(made._numbers, made.cells)):
            raise BrittleError(
                f"{run.name} and {other.name} can't be compared by accuracy: their images have no labels",
                "Compare ρ.",
            )
        return made

    @cached_property
    def cells(self) -> list[ComparedCell]:
        """What both runs have, in the new run's order."""
        kinds = [*([ROBUSTNESS] if {"rho", "accuracy"} & {*self.numbers} else [])]
        found = [each for kind in kinds for each in self._cells(kind)]
        return found + (list(self._untouched()) if "clean" in self.numbers else [])

    @property
    def not_compared(self) -> list[str]:
        """Results of robustness that are set beside nothing, a phrase each."""
        mine, theirs = (set(self._results(run)) for run in (self.run, self.other))
        for cell in self._cells(ROBUSTNESS):
            rest = cell.image_set, cell.nuisance
            mine.discard((cell.measure, cell.classifier, *rest))
            theirs.discard((cell.measure, cell.before, *rest))
        return [
            f"{' · '.join(key[1:])} ({run.name})"
            for run, keys in ((self.run, mine), (self.other, theirs))
            for key in sorted(keys)
        ]

    @staticmethod
    def _results(run: RecordedRun) -> dict[tuple[str, ...], Row]:
        return {
            (measure, row["classifier"], row["image_set"], row["nuisance"]): row
            for measure in run.measures(ROBUSTNESS)
            for row in run.results(measure)
        }

    def _cells(self, kind: str) -> Iterator[ComparedCell]:
        mine, theirs = (self._results(run) for run in (self.run, self.other))
        for measure, name, images, nuisance in mine:
            before = self.classifiers.get(name)
            if before is not None and (measure, before, images, nuisance) in theirs:
                refuse_other_measure(self.run, self.other, measure)
                yield ComparedCell(measure, name, before, images, nuisance, self._same(name))

    def _untouched(self) -> Iterator[ComparedCell]:
        """Every classifier on every labelled image set that robustness was measured on, without a nuisance."""
        seen = dict.fromkeys((cell.classifier, cell.image_set) for cell in self._cells(ROBUSTNESS))
        for name, images in seen:
            yield ComparedCell(self.run.clean, name, self.classifiers[name], images, "", self._same(name))

    def _same(self, name: str) -> bool:
        return same_classifier(self.run, self.other, name, self.classifiers[name])

    def pair(self, cell: ComparedCell) -> Pair:
        """The rows of a cell in both runs, of the images and draws that both have seen."""
        rows = self._rows(cell)
        draws = min(row["samples"] for row in rows) if cell.nuisance else 1
        found = [
            evaluations(run, self._address(run, cell, name), row["images"], row["samples"] if cell.nuisance else 1)
            for run, name, row in zip((self.run, self.other), (cell.classifier, cell.before), rows, strict=True)
        ]
        ids = _common(found[0].ids, found[1].ids)
        after, before = (each.of(ids).reaching(len(ids), draws) for each in found)
        return Pair(cell, after, before, self._design(cell, rows, len(ids), draws))

    @staticmethod
    def _address(run: RecordedRun, cell: ComparedCell, classifier: str) -> Cell:
        return Cell(cell.measure if cell.nuisance else run.clean, classifier, cell.image_set, cell.nuisance)

    def _rows(self, cell: ComparedCell) -> list[Row]:
        """What the summaries say of a cell; of untouched images what they say under the first nuisance, whose clean
        rows are there."""
        return [
            next(
                row
                for (measure, name, images, nuisance), row in self._results(run).items()
                if (name, images) == (classifier, cell.image_set)
                and (not cell.nuisance or (measure, nuisance) == (cell.measure, cell.nuisance))
            )
            for run, classifier in ((self.run, cell.classifier), (self.other, cell.before))
        ]

    def _design(self, cell: ComparedCell, rows: Sequence[Row], images: int, draws: int) -> ChangeDesign:
        """A number of images is planned only where no more could ever be looked at: otherwise the same question may be
        asked again of more, and the interval must hold at both times."""
        sets = [ImageSetSummary.read(run.summary["image_sets"][cell.image_set]) for run in (self.run, self.other)]
        whole = all(images == each.population for each in sets)
        estimand: Estimand = rows[0]["estimand"] if cell.nuisance else "population"
        block = DESIGNS[rows[0].get("design", "independent")].block if cell.nuisance else 1
        if estimand == "set":
            return ChangeDesign("set", draws, block=block)
        stopped = any(row["tolerance"] is not None for row in rows)
        planned = images if whole and not stopped else None
        return ChangeDesign(estimand, planned, sets[0].population, draws, block)

    def _numbers(self, cell: ComparedCell) -> list[Number]:
        """Those that a cell has: without labels there is no accuracy."""
        rows = self._rows(cell)
        labelled = all(row["reference"] == "label" for row in rows)
        if not cell.nuisance:
            return ["clean"] if labelled else []
        return [each for each in self.numbers if each == "rho" or (each == "accuracy" and labelled)]

    @cached_property
    def family(self) -> int:
        """How many intervals hold at once: those of classifiers that are not known to be the same."""
        return sum(len(self._numbers(cell)) for cell in self.cells if not cell.same)

    @property
    def level(self) -> float:
        """The confidence of each of them."""
        return simultaneous(self.confidence, max(1, self.family))

    @cached_property
    def found(self) -> list[CellChanges]:
        """Cell by cell, what has changed; the rows of one are in memory at a time."""
        return [self._found(cell) for cell in self.cells]

    def _found(self, cell: ComparedCell) -> CellChanges:
        pair = self.pair(cell)
        changes = [_change(pair, number, self.level, self.confidence) for number in self._numbers(cell)]
        return CellChanges(cell, changes, flips(pair.after, pair.before))

    @property
    def changes(self) -> list[ChangedNumber]:
        return [each for found in self.found for each in found.changes]


def _change(pair: Pair, number: Number, level: float, confidence: float) -> ChangedNumber:
    values = [each.p if number == "rho" else each.right for each in (pair.after, pair.before)]
    after, before = (np.asarray(each, np.float64) for each in values)
    changes = np.ascontiguousarray((after - before).T)
    if pair.design.estimand != "set":
        changes = changes.mean(0, keepdims=True)
    return ChangedNumber(
        pair.cell,
        number,
        float(before.mean()),
        float(after.mean()),
        mean_change(changes, pair.design, level),
        mean_change(changes, pair.design, confidence),
        after.shape[0],
        after.shape[1],
        pair.design,
        changes,
    )


def _common(ids: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
    """The images that both have, in planned order. It is the same in both, so these are the first of either."""
    kept = ids[np.isin(ids, others)]
    if not np.array_equal(kept, others[np.isin(others, ids)]):
        raise BrittleError(
            "the runs can't be compared: their images are in another order", "Measure both with the same seed."
        )
    return kept


def plain(change: ChangedNumber) -> dict[str, Any]:
    """A change in plain values."""
    cell = change.cell
    return {
        "measure": cell.measure,
        "classifier": cell.classifier,
        "against": cell.before,
        "image_set": cell.image_set,
        "nuisance": cell.nuisance,
        "number": change.number,
        "before": change.before,
        "after": change.after,
        **change.difference.named("difference", "interval"),
        "interval_own": change.own.interval,
        "images": change.images,
        "draws": change.draws,
        "same_classifier": cell.same,
    }
