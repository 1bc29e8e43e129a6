"""Before and after: two classifiers on the same test images and the same θ, and their paired differences."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from brittle.api import job_of, run
from brittle.changes import differences
from brittle.engine.execute import carry_out
from brittle.engine.folder import RunFolder
from brittle.engine.job import Job
from brittle.engine.results import JobView, summary
from brittle.engine.store import MemoryStore, Store
from brittle.images.base import ImageSet
from brittle.measures.robustness.estimate import Estimate, estimate
from brittle.measures.robustness.measure import Robustness
from brittle.measures.robustness.summary import Finding, findings
from brittle.progress import Progress
from brittle.statistics.intervals import betting_bounds, simultaneous
from brittle.study import Study

BEFORE, AFTER, TEST = "before", "after", "test"
MEASURE = Robustness.name


class BeforeAfter(NamedTuple):
    """What was found on the test images."""

    found: dict[str, Any]  # summary.json of the run
    difference: dict[str, Any]  # after − before, with paired intervals


@dataclass(frozen=True)
class PairedRun:
    """The run folder of a hardening. It is begun with the classifier as it was, and extended by what became of it."""

    folder: Path
    before: str
    images: str
    ids: tuple[int, ...]  # of the test images
    nuisance: str
    samples: int
    seed: int
    device: str | None

    def _study(self, classifiers: Mapping[str, str]) -> Study:
        return Study.of(
            {
                "title": f"{self.before}, hardened against {self.nuisance}",
                "seed": self.seed,
                "classifiers": dict(classifiers),
                "images": {TEST: {"spec": self.images, "ids": list(self.ids)}},
                "nuisances": {self.nuisance: self.nuisance},
                MEASURE: {"samples": self.samples},
            }
        )

    def begin(self, progress: Progress) -> None:
        """Measures the classifier as it was; a folder that has been begun is only held against what is wanted."""
        folder, before = RunFolder(self.folder), {BEFORE: self.before}
        if not folder.exists():
            run(self._study(before), self.folder, device=self.device, progress=progress)
            return
        with folder.locked():
            after = {key: spec for key, spec in folder.read_study()["classifiers"].items() if key == AFTER}
            folder.compare(self._study(before | after).resolved(), differences)

    def end(self, after: str, progress: Progress) -> BeforeAfter:
        study = self._study({BEFORE: self.before, AFTER: after})
        found = run(study, self.folder, device=self.device, progress=progress)
        return BeforeAfter(found, difference(study.job(self.device), RunFolder(self.folder).store))


def in_memory(
    before: Any, after: Any, images: ImageSet, nuisance: Any, samples: int, seed: int, device: str, progress: Progress
) -> BeforeAfter:
    """The same for classifiers that no spec names."""
    test = dataclasses.replace(images, name=TEST)
    wanted = {MEASURE: {"samples": samples}}
    job = job_of(wanted, {BEFORE: before, AFTER: after}, test, nuisance, None, (), (), seed, device, None)
    job.check()
    store = MemoryStore()
    carry_out(job, store, progress)
    return BeforeAfter(summary(job, store), difference(job, store))


def difference(job: Job, store: Store) -> dict[str, Any]:
    """after − before on the same images and the same θ: ρ̂, accuracy under the nuisance and clean, and by class.

    Intervals of classes are simultaneous over the classes."""
    view, measure = JobView(job, store, MEASURE), job.measures[MEASURE]
    assert isinstance(measure, Robustness)
    ((images, subject),), (nuisance,) = view.subjects.items(), view.nuisances
    found = findings(measure, view, images, nuisance)
    labels = subject.labels
    present = np.unique(labels)
    together = simultaneous(measure.confidence, len(present))
    by_class = [
        {
            "label": int(label),
            "class": subject.classes[label] if label < len(subject.classes) else str(label),
            "images": int((labels == label).sum()),
        }
        | _differences(measure, found, subject.population, labels == label, together)
        for label in present
    ]
    every = np.ones(len(labels), dtype=bool)
    return _differences(measure, found, subject.population, every, measure.confidence) | {
        "confidence": measure.confidence,
        "classes": by_class,
    }


def _differences(
    measure: Robustness, found: Mapping[str, Finding], population: int, only: Any, confidence: float
) -> dict[str, Any]:
    before, after = found[BEFORE], found[AFTER]
    said: dict[str, Any] = {}
    for name, what in (("rho", "confidence"), ("accuracy_nuisance", "correct")):
        moved = estimate(
            measure,
            after.tally,
            before.reach,
            population,
            what,
            only=only,
            minus=before.tally,
            confidence=confidence,
        )
        said |= {name: moved.value, f"{name}_interval": moved.interval}
    right = (after.clean["rank"] == 0).astype(np.float64) - (before.clean["rank"] == 0)
    right = right[only]
    low, high = betting_bounds(right, confidence, planned=len(right), support=(-1.0, 1.0))
    clean = Estimate(float(right.mean()), float(low), float(high))
    return said | {"accuracy_clean": clean.value, "accuracy_clean_interval": clean.interval}
