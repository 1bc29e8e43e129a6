"""From stored rows to summary.json: a measure's view of a run, and what every measure says in the end."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from brittle.engine.check.labels import matching_warning
from brittle.engine.folds import Folds
from brittle.engine.job import SUMMARY_VERSION, Job
from brittle.engine.live_objects import is_live
from brittle.engine.plan.assignments import Assignment
from brittle.engine.plan.missing import cells_needed_in_full, image_range, joined_spans, spans_read
from brittle.engine.store.checked_json import without_nan
from brittle.engine.store.unit_store import Store, gaps
from brittle.errors import BrittleError, Failure
from brittle.images.selection import ChosenImages
from brittle.measures.base import ROWS, About, Cell, ClassifierFacts, Fold, ImageSetFacts, together
from brittle.measures.class_order import ORDER, SuspectedReordering, class_orders
from brittle.measures.plan import Plan, Span
from brittle.types import Nuisance


@dataclass(frozen=True)
class MeasureView:
    """A job's rows of one measure, read from the store; no classifier is asked anything."""

    job: Job
    store: Store
    name: str
    _folds: Folds | None = field(default=None, repr=False)
    _reader: MeasureView | None = None  # who reads it so: only what that one is asked about is shown
    _read: dict[str, MeasureView] = field(default_factory=dict, init=False, repr=False)  # what it has read, by name

    @property
    def _assignment(self) -> Assignment:
        return self.job.assignments[self.name]

    @property
    def seed(self) -> int:
        return self.job.seed

    def _shown(self, sort: str) -> list[str]:
        """What the measure, and whoever reads it, is asked about; in a report, of that what can still be loaded."""
        there = {"classifiers": self.job.facts, "images": self.job.images, "nuisances": self.job.nuisances}[sort]
        wanted = there if self._reader is None else self._reader._shown(sort)
        return [name for name in getattr(self._assignment, sort) if name in there and name in wanted]

    @property
    def classifiers(self) -> Mapping[str, ClassifierFacts]:
        return {name: self.job.facts[name] for name in self._shown("classifiers")}

    @property
    def images(self) -> Mapping[str, ImageSetFacts]:
        return {name: _with_names(self.job.subject(name), self.job.facts) for name in self._shown("images")}

    @property
    def nuisances(self) -> Mapping[str, Nuisance]:
        return {name: self.job.nuisances[name] for name in self._shown("nuisances")}

    def about(self, cell: Cell) -> About:
        return self.job.about(cell)

    def plan(self, cell: Cell) -> Plan:
        return self.job.plan(cell)

    def cell(self, classifier: str = "", images: str = "", nuisance: str = "") -> Cell:
        return self._assignment.cell(classifier, images, nuisance)

    def cells(self) -> Iterator[Cell]:
        shown = [{"", *self._shown(sort)} for sort in ("classifiers", "images", "nuisances")]
        return (
            cell
            for cell in self._assignment.cells()
            if all(name in names for name, names in zip(cell[1:], shown, strict=True))
        )

    def rows(self, cell: Cell, table: str = ROWS) -> Iterator[pa.Table]:
        end = self.end(cell)
        self._refuse_gaps(cell)
        return (rows for _, rows in self.store.read(cell, None if end is None else Span(0, end), table))

    def is_complete(self, cell: Cell) -> bool:
        """Whether all units of a cell that count are there."""
        return not self._missing(cell)

    def _missing(self, cell: Cell) -> list[Span]:
        done = joined_spans(self.store.done(cell))
        return [gap for span in self._wanted(cell) for gap in gaps(done, span)]

    def _refuse_gaps(self, cell: Cell) -> None:
        """What a number or a picture rests on must all be there."""
        if missing := self._missing(cell):
            named = " · ".join(filter(None, cell))
            raise Failure(
                f"units {missing[0].first} to {missing[0].end - 1} of {named} are missing",
                "Give the run command again: what is missing is computed again.",
            )

    def _wanted(self, cell: Cell) -> list[Span]:
        """The units of a cell that were computed: all, up to where a measure stopped; of a measure that was only read,
        those that its reader read."""
        assignment, plan = self._assignment, self.plan(cell)
        if self._reader is None or assignment.asked:
            prefix = self._found.prefix(cell) if self.job.can_stop(cell) else None
            return [Span(0, len(plan) if prefix is None or not prefix.finished else prefix.read)]
        return self._read_spans.get(cell, [])

    @cached_property
    def _read_spans(self) -> dict[Cell, list[Span]]:
        """By cell: the units that the reader's cells read. Many may read the same."""
        reader, found = self._reader, dict[Cell, list[Span]]()
        if reader is None:
            return found
        for each in reader.cells():
            for there in self.job.reads(each).values():
                if there.measure == self.name:
                    images = image_range(reader.plan(each)[: reader.end(each)])
                    found.setdefault(there, []).extend(spans_read(self.plan(there), there, *images))
        return found

    def table(self, cell: Cell, table: str = ROWS) -> pa.Table:
        parts = list(self.rows(cell, table))
        if not parts:
            named = " · ".join(filter(None, cell))
            raise Failure(f"the run holds nothing of {named} yet", "Give the same command again to resume it.")
        return together(parts)

    def end(self, cell: Cell) -> int | None:
        """The unit at which a measure that may stop early did so; None for the others."""
        return self._found.prefix(cell).read if self.job.can_stop(cell) else None

    def fold(self, cell: Cell) -> Fold:
        if self.job.can_stop(cell):
            return self._found.prefix(cell).fold
        self._refuse_gaps(cell)
        return self._found.whole(cell)

    @cached_property
    def _found(self) -> Folds:
        return self._folds or Folds(self.job, self.store)

    def read(self, kind: str) -> MeasureView | None:
        name = self._assignment.reads.get(kind)
        if name is not None and name not in self._read:
            self._read[name] = MeasureView(self.job, self.store, name, self._found, self)
        return None if name is None else self._read[name]

    def references(self, classifier: str, images: str) -> NDArray[np.int64]:
        return self.job.references(classifier, images)

    def prior(self, images: str, nuisance: str) -> str:
        return self.job.prior(images, nuisance)


def _with_names(subject: ImageSetFacts, classifiers: Mapping[str, ClassifierFacts]) -> ImageSetFacts:
    """Classes that the images leave without names are called as the classifiers call them, where these agree."""
    names = {each.labels for each in classifiers.values()}
    if subject.classes or len(names) != 1 or all(label.isdecimal() for label in next(iter(names))):
        return subject
    return replace(subject, classes=next(iter(names)))


def summary(job: Job, store: Store) -> dict[str, Any]:
    """summary.json: what every measure says under its own name, warnings, and what was used."""
    said: dict[str, Any] = {}
    said_of: dict[str, list[str]] = {}
    warnings = [*job.warnings, *(text for images in job.images for text in _selection_warnings(job, images))]
    calls = dict.fromkeys(job.facts, 0)
    orders: dict[str, SuspectedReordering] = {}
    folds = Folds(job, store)
    views = {name: MeasureView(job, store, name, folds) for name in job.assignments}
    for name, assignment in job.assignments.items():
        if assignment.asked:
            found = dict(assignment.measure.summarise(views[name]))
            said_of[name] = found.pop("warnings", [])
            warnings += said_of[name]
            for classifier, count in found.pop("calls", _planned_calls(views[name])).items():
                calls[classifier] += count
            said[name] = {"kind": assignment.kind} | _plain(name, found)
            orders |= {each.said: each for each in class_orders(views[name], assignment.kind)}
    for cell, places in _units_needed_by_readers(job, views).items():
        assignment, plan = job.assignments[cell.measure], job.plan(cell)
        if cell.classifier:
            calls[cell.classifier] += sum(assignment.measure.calls(plan[place]) for place in places)
    return {
        "version": SUMMARY_VERSION,
        "measures": said,
        "warnings": list(dict.fromkeys([*orders, *warnings])),
        "warned": {name: texts for name, texts in said_of.items() if texts},  # which of them which measure gives
        "calls": calls,
        "classifiers": {name: _classifier(facts) for name, facts in job.facts.items()},
        "image_sets": {name: _described(chosen) for name, chosen in job.images.items()},
        "skipped": {name: list(chosen.whole.skipped) for name, chosen in job.images.items()},
    } | ({ORDER: [each._asdict() for each in orders.values()]} if orders else {})


def unfinished_summary(job: Job) -> dict[str, Any]:
    """The same of a run that is still being computed: what it is of, and nothing yet of what it says."""
    return {
        "version": SUMMARY_VERSION,
        "measures": {},
        "warnings": [],
        "calls": {},
        "classifiers": {name: _classifier(facts) for name, facts in job.facts.items()},
        "image_sets": {name: _described(chosen) for name, chosen in job.images.items()},
        "skipped": {},
    }


def _plain(name: str, said: dict[str, Any]) -> dict[str, Any]:
    """What a measure says, as it will be read from summary.json: NaN and ±∞ as null."""
    try:
        plain: dict[str, Any] = without_nan(json.loads(json.dumps(said)))
    except (TypeError, ValueError) as error:
        raise BrittleError(
            f"the measure {name!r} sums up in what is not a plain value: {error}",
            "Fix its `summarise`: numbers, text, lists and dictionaries of Python's own; what is computed is kept.",
        ) from error
    return plain


def _planned_calls(view: MeasureView) -> dict[str, int]:
    """What a measure planned for each classifier, as far as it went."""
    calls, count = dict.fromkeys(view.classifiers, 0), view.job.assignments[view.name].measure.calls
    for cell in view.cells():
        if cell.classifier:
            calls[cell.classifier] += sum(map(count, view.plan(cell)[: view.end(cell)]))
    return calls


def _units_needed_by_readers(job: Job, views: Mapping[str, MeasureView]) -> dict[Cell, set[int]]:
    """Of what was computed only to be read, the units that readers needed: how much was read past a stopping point is
    an accident."""
    found: dict[Cell, set[int]] = {}
    whole = cells_needed_in_full(job)
    for name in reversed(list(views)):  # readers first
        view, asked = views[name], job.assignments[name].asked
        for cell in view.cells():
            plan = view.plan(cell)
            if cell in whole:
                found[cell] = set(range(len(plan))[: view.end(cell)])
            reads = [read for read in job.reads(cell).values() if not job.assignments[read.measure].asked]
            if reads:
                images = image_range(plan[: view.end(cell)] if asked else [plan[each] for each in found.get(cell, ())])
                for read in reads:
                    spans = spans_read(job.plan(read), read, *images)
                    found.setdefault(read, set()).update(place for span in spans for place in range(*span))
    return found


def _classifier(facts: ClassifierFacts) -> dict[str, Any]:
    described: dict[str, Any] = {"labels": list(facts.labels)}
    if facts.group:
        described["group"] = facts.group
    # Dates are text, as in the study file.
    attributes = without_nan(json.loads(json.dumps(dict(facts.attributes), default=str)))
    return described | ({"attributes": attributes} if attributes else {})


class ImageSetSummary(NamedTuple):
    """What the summary says of every image set."""

    images: int
    population: int
    shape: list[int]  # of the largest image
    classes: list[str]

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> ImageSetSummary:
        """From an entry of summary["image_sets"], which may say more."""
        return cls(*(kept[name] for name in cls._fields))


def _described(chosen: ChosenImages) -> dict[str, Any]:
    images = chosen.images
    described = ImageSetSummary(len(images), len(chosen.whole), list(images.shape), list(images.classes))._asdict()
    if len(images.shapes) > 1:
        described |= {"median_shape": list(images.median_shape), "shapes": len(images.shapes)}
    return described


def _unlabelled(job: Job, name: str) -> list[str]:
    """A spec says that its images have no labels; −1 among labels may be a mistake."""
    labels = job.images[name].images.labels
    without, spec = int((labels < 0).sum()), job.entries.get("images", {}).get(name, {}).get("spec")
    if not without or (without == len(labels) and spec is not None and not is_live(spec)):
        return []
    return [
        f"{without} of the {len(labels)} images of {name!r} have no label (−1): for them agreement with the "
        "classifier's own clean prediction is measured, not accuracy"
    ]


def _trained_on_itself(job: Job, name: str) -> list[str]:
    """Test images that were trained on: the gap between the two sets is not what it seems."""
    train, entries = job.trained_on.get(name, ""), job.entries.get("images", {})
    if train not in entries or name not in entries:
        return []
    tested, trained = entries[name], entries[train]
    if trained["fingerprint"] == tested["fingerprint"]:
        other = "itself" if train == name else f"{train!r}, which holds the same images"
        return [f"the image set {name!r} names as its training images {other}: a gap between the two says nothing"]
    shared = int(np.isin(job.subject(name).ids, job.subject(train).ids).sum())
    if shared and trained["spec"] == tested["spec"] and not is_live(tested["spec"]):
        whole = len(job.subject(name))
        return [f"{shared} of the {whole} images of {name!r} are also among its training images, {train!r}"]
    return []


def _selection_warnings(job: Job, name: str) -> list[str]:
    """What a user may not expect of the images: fewer than the count, or classes matched by number."""
    chosen = job.images[name]
    lines = list(chosen.whole.notes)
    if chosen.asked is not None and chosen.asked > len(chosen.images):
        lines.append(
            f"the image set {name!r} has {len(chosen.images)} images, fewer than {chosen.asked}: all are taken"
        )
    lines += _unlabelled(job, name)
    lines += _trained_on_itself(job, name)
    cells = (cell for assignment in job.assignments.values() for cell in assignment.cells())
    asked = dict.fromkeys(cell.classifier for cell in cells if cell.classifier and cell.images == name)
    return [*lines, *filter(None, (matching_warning(job.facts[each], job.subject(name)) for each in asked))]
