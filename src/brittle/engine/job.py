"""A job: a study's things, loaded, and everything about its cells that follows from them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from brittle.engine.check.labels import reference_labels
from brittle.engine.hashes.object_hash import ObjectHash
from brittle.engine.plan.assignments import Assignment
from brittle.imagenet import shown
from brittle.images.base import ImageSet
from brittle.images.selection import ChosenImages
from brittle.measures.base import (
    NO_CLASSIFIER,
    NO_IMAGES,
    About,
    Cell,
    ClassifierFacts,
    ImageSetFacts,
    Measure,
    MeasureInputs,
)
from brittle.measures.plan import Plan
from brittle.nuisances import nuisances
from brittle.registry import binds_rows, extending, options_of
from brittle.registry.source import code_hash
from brittle.types import Classifier, Graph, Nuisance, Precision

FORMAT = 7  # of run folders
SUMMARY_VERSION = 1  # of summary.json


class CellLayout(NamedTuple):
    """How a cell's rows are laid out."""

    about: About
    plan: Plan


@dataclass(frozen=True)
class Job:
    """Everything of one run, by name. What was made from a spec says so in `entries`."""

    classifiers: Mapping[str, Classifier]
    images: Mapping[str, ChosenImages]
    nuisances: Mapping[str, Nuisance]
    assignments: Mapping[str, Assignment]  # readers after what they read
    seed: int = 0
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    batch: int | None = None
    facts: Mapping[str, ClassifierFacts] = field(default_factory=dict)
    entries: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # sort → name → plain values
    trained_on: Mapping[str, str] = field(default_factory=dict)  # image set → its training set
    plain: Mapping[str, Classifier] = field(default_factory=dict)  # in their own numbers
    precision: Precision = "float32"
    graphs: Mapping[str, Graph] = field(default_factory=dict)  # of classifiers that are compiled
    ways: Mapping[str, str] = field(default_factory=dict)  # how each of these is: "yes" by torch, "onnx" by onnxruntime
    warnings: Sequence[str] = ()  # of what was found out about its things before work began
    live: Mapping[str, ObjectHash] = field(
        default_factory=dict
    )  # of classifiers that no spec names, where rows are kept
    _known: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def stream(self, nuisance: str) -> str:
        """Names a nuisance's random numbers: its kind, so that the same z is behind every alpha and curves over an
        option are compared draw by draw."""
        return nuisances.name_of(self.nuisances[nuisance])

    def needs(self, nuisance: str) -> frozenset[str]:
        """Extras that a nuisance reads, which differ by classifier."""
        return self.nuisances[nuisance].needs if nuisance else frozenset()

    def subject(self, images: str) -> ImageSetFacts:
        if ("subject", images) not in self._known:
            self._known["subject", images] = subject_of(self.images[images], self.trained_on.get(images, ""))
        found: ImageSetFacts = self._known["subject", images]
        return found

    def about(self, cell: Cell) -> About:
        return About(
            self.seed,
            self.subject(cell.images) if cell.images else NO_IMAGES,
            self.nuisances[cell.nuisance] if cell.nuisance else None,
            cell.nuisance,
            self.stream(cell.nuisance) if cell.nuisance else "",
            self.facts.get(cell.classifier, NO_CLASSIFIER),
            cell.images,
        )

    def plan(self, cell: Cell) -> Plan:
        """The units of a cell, in the order in which they count."""
        if cell not in self._known:
            self._known[cell] = self.assignments[cell.measure].measure.plan(self.about(cell))
        found: Plan = self._known[cell]
        return found

    def can_stop(self, cell: Cell) -> bool:
        """Whether a cell's plan may end early."""
        if ("can stop", cell) not in self._known:
            self._known["can stop", cell] = can_stop(self.assignments[cell.measure].measure, self.about(cell))
        return bool(self._known["can stop", cell])

    def asked(self, assignment: Assignment) -> MeasureInputs:
        """All that a measure is asked about."""
        return MeasureInputs(
            {name: self.facts[name] for name in assignment.classifiers},
            {name: self.subject(name) for name in assignment.images},
            {name: self.nuisances[name] for name in assignment.nuisances if name in self.nuisances},
        )

    def references(self, classifier: str, images: str) -> NDArray[np.int64]:
        """Labels (M,) as a classifier counts its classes; −1 where an image has none."""
        key = ("references", classifier, images)
        if key not in self._known:
            self._known[key] = reference_labels(self.facts[classifier], self.subject(images))
        found: NDArray[np.int64] = self._known[key]
        return found

    def reads(self, cell: Cell) -> dict[str, Cell]:
        """By kind: the cells whose rows a cell's measure is given.

        Whether a read is given follows from the study alone: it is there, the cell says which of its cells is meant, it
        covers that one, and it can't stop early, since how far it went past its stop is an accident."""
        assignment, found = self.assignments[cell.measure], {}
        for read in assignment.measure.reads:
            other = self.assignments.get(assignment.reads.get(read.kind, ""))
            if other is None or not other.measure.over <= assignment.measure.over:
                continue
            there = other.cell(cell.classifier, cell.images, cell.nuisance)
            if _covers(other, there) and not self.can_stop(there):
                found[read.kind] = there
        return found

    def extent(self, cell: Cell) -> str:
        """Which rows a cell has, as text: how many images, and the options of its measure that extend them. What the
        rows hold does not depend on it."""
        measure = self.assignments[cell.measure].measure
        count = self.entries.get("images", {}).get(cell.images, {}).get("count")
        options = {key: getattr(measure, name) for key, name in extending(type(measure)).items()}
        return json.dumps({"images": count, "options": options}, sort_keys=True)

    def layout(self, cell: Cell, extent: str) -> CellLayout:
        """A cell as it is, or was, with another extent."""
        key, about = ("layout", cell, extent), self.about(cell)
        if key not in self._known:
            found, measure = json.loads(extent), self.assignments[cell.measure].measure
            names = extending(type(measure))
            options = {names[option]: value for option, value in found["options"].items()}
            if cell.images:
                there = self.images[cell.images]
                chosen = replace(there, images=there.whole.choose(found["images"], self.seed))
                about = replace(about, subject=subject_of(chosen, about.subject.train))
            measure = replace(measure, **options)  # type: ignore[type-var]
            self._known[key] = CellLayout(about, measure.plan(about))
        layout: CellLayout = self._known[key]
        return layout

    def depends(self, cell: Cell) -> str:
        """A hash of all that a cell's rows depend on: another one means other rows."""
        key = ("depends", cell)
        if key not in self._known:
            assignment = self.assignments[cell.measure]
            required = {read.kind for read in assignment.measure.reads if read.required}
            about = {
                "format": FORMAT,
                "seed": self.seed,
                "measure": [assignment.kind, _row_options(assignment), *_code(assignment)],
                "things": [
                    self.entries.get("classifiers", {}).get(cell.classifier),
                    self.entries.get("images", {}).get(cell.images, {}).get("source"),
                    self.entries.get("nuisances", {}).get(cell.nuisance),
                ],
                "computed": [self.precision, self.ways.get(cell.classifier, "no")],
                "reads": {kind: self.depends(read) for kind, read in self.reads(cell).items() if kind in required},
            }
            text = json.dumps(about, sort_keys=True, default=str)
            self._known[key] = hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
        return str(self._known[key])

    def batch_size(self, images: str) -> int:
        """Pairs classified at once: what fits the caches of a CPU, or fills a GPU."""
        if self.batch is not None:
            return self.batch
        numbers = math.prod(self.images[images].images.shape) if images else 1
        if self.device.type == "cuda":
            return _power_of_two((1 << 26) // numbers, 64, 8192)
        least = _power_of_two((1 << 26) // numbers, 1, 16)  # 16 photographs as they come from a camera are gigabytes
        return _power_of_two((1 << 19) // numbers, least, 512)

    def prior(self, images: str, nuisance: str) -> str:
        """What the prior means on these images; where they differ in size, on the one in the middle."""
        there: ImageSet = self.images[images].images
        _, height, width = there.median_shape
        meant = self.nuisances[nuisance].describe(height, width)
        return meant if len(there.shapes) == 1 else f"{meant} (on the median image, {width}×{height})"


def can_stop(measure: Measure, about: About) -> bool:
    """Whether a measure may have enough of a cell before its plan ends."""
    fold = measure.fold(about)
    return fold is not None and fold.can_stop


def _code(assignment: Assignment) -> list[str]:
    """Hashes of the user's own files that a measure, or its sampler, comes from."""
    words = [assignment.kind, *(each for each in vars(assignment.measure).values() if isinstance(each, str))]
    return [found for each in words if (found := code_hash(each))]


def subject_of(chosen: ChosenImages, train: str = "") -> ImageSetFacts:
    """What is known of chosen images without reading them."""
    images, whole = chosen.images, chosen.whole
    return ImageSetFacts(
        images.name,
        images.ids.numpy(),
        images.labels.numpy(),
        tuple(map(shown, images.classes)),
        images.names,
        images.shape,
        len(whole),
        whole.labels.numpy(),
        chosen.asked,
        images.columns,
        train,
        images.origin,
    )


def _covers(other: Assignment, cell: Cell) -> bool:
    pairs = (
        (cell.classifier, other.classifiers),
        (cell.images, other.images),
        (cell.nuisance, other.nuisances_on(cell.images)),
    )
    return all(not name or name in names for name, names in pairs)


def _row_options(assignment: Assignment) -> dict[str, Any]:
    """The options that rows depend on: all but those that only the summary reads, or that say which rows there are."""
    return {
        key: getattr(assignment.measure, field.name)
        for key, field in options_of(type(assignment.measure)).items()
        if binds_rows(field)
    }


def _power_of_two(value: int, least: int, most: int) -> int:
    return max(least, min(most, 1 << max(value, 1).bit_length() - 1))
