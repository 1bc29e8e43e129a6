"""Before and after: two classifiers on the same test images and the same θ, and their paired differences."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from brittle.engine.assemble import Things
from brittle.engine.carry_out import Done, run_study, run_things
from brittle.engine.runs import RunFolder
from brittle.images.base import ImageSet
from brittle.images.selection import Selection
from brittle.measures.before_after.measure import KIND as DIFFERENCE
from brittle.measures.robustness.measure import KIND as ROBUSTNESS
from brittle.nuisances import nuisances
from brittle.progress import Progress
from brittle.study import MeasureEntry, Study
from brittle.types import Nuisance

BEFORE, AFTER, TEST = "before", "after", "test"


class BeforeAfter(NamedTuple):
    """What was found on the test images."""

    found: dict[str, Any]  # summary.json of the run

    @classmethod
    def of(cls, done: Done) -> BeforeAfter:
        return cls(done.summary)

    @property
    def results(self) -> list[dict[str, Any]]:
        """One per classifier."""
        results: list[dict[str, Any]] = self.found["measures"][ROBUSTNESS]["results"]
        return results

    @property
    def difference(self) -> dict[str, Any]:
        """after − before, with paired intervals, also by class."""
        (difference,) = self.found["measures"][DIFFERENCE]["differences"]
        return {key: value for key, value in difference.items() if key not in (BEFORE, AFTER, "image_set", "nuisance")}


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
        wanted: dict[str, dict[str, Any]] = {ROBUSTNESS: {"kind": ROBUSTNESS, "samples": self.samples}}
        if AFTER in classifiers:
            wanted[DIFFERENCE] = {"kind": DIFFERENCE}
        return Study.of(
            {
                "title": f"{self.before}, hardened against {self.nuisance}",
                "seed": self.seed,
                "classifiers": dict(classifiers),
                "images": {TEST: {"spec": self.images, "ids": list(self.ids)}},
                "nuisances": {self.nuisance: self.nuisance},
                "measures": wanted,
            }
        )

    def begin(self, progress: Progress) -> None:
        """Measures the classifier as it was; a folder that has been begun is only held against what is wanted."""
        folder, before = RunFolder(self.folder), {BEFORE: self.before}
        if not folder.exists():
            run_study(self._study(before), self.folder, device=self.device, progress=progress)
            return
        with folder.locked():
            kept = folder.read_study()["classifiers"]
            after = {AFTER: kept[AFTER]["spec"]} if AFTER in kept else {}
            folder.compare(self._study(before | after).resolved())

    def end(self, after: str, progress: Progress) -> BeforeAfter:
        study = self._study({BEFORE: self.before, AFTER: after})
        return BeforeAfter.of(run_study(study, self.folder, device=self.device, progress=progress))


def in_memory(
    before: Any,
    after: Any,
    images: ImageSet,
    nuisance: Nuisance,
    samples: int,
    seed: int,
    device: str,
    progress: Progress,
) -> BeforeAfter:
    """The same for classifiers that no spec names."""
    classifiers = {BEFORE: before, AFTER: after}
    wanted = {ROBUSTNESS: MeasureEntry(kind=ROBUSTNESS, samples=samples), DIFFERENCE: MeasureEntry(kind=DIFFERENCE)}
    return BeforeAfter.of(_measured(classifiers, images, nuisance, wanted, seed, device, progress))


def held_out_result(
    classifier: Any, images: ImageSet, nuisance: Nuisance, samples: int, seed: int, device: str, progress: Progress
) -> dict[str, Any]:
    """One classifier on the held-out images."""
    wanted = {ROBUSTNESS: MeasureEntry(kind=ROBUSTNESS, samples=samples)}
    done = _measured({BEFORE: classifier}, images, nuisance, wanted, seed, device, progress)
    result: dict[str, Any] = done.summary["measures"][ROBUSTNESS]["results"][0]
    return result


def _measured(
    classifiers: Mapping[str, Any],
    images: ImageSet,
    nuisance: Nuisance,
    wanted: Mapping[str, MeasureEntry],
    seed: int,
    device: str,
    progress: Progress,
) -> Done:
    test = dataclasses.replace(images, name=TEST)
    things = Things(classifiers, {TEST: (test, Selection())}, {nuisances.spec_of(nuisance): nuisance}, wanted, seed)
    return run_things(things, device=device, progress=progress)
