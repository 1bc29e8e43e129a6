"""Before and after: two classifiers on the same test images and the same θ, and their paired differences."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from brittle.engine.assemble import Things
from brittle.engine.carry_out import Done, run_things
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

    done: Done

    @property
    def found(self) -> dict[str, Any]:
        """summary.json of the run."""
        return self.done.summary

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
    """The run folder of a hardening. It is begun with the classifier as it was, and extended by what became of it. All
    that it is of may be specs or live objects."""

    folder: Path
    title: str
    before: Any
    images: Any
    ids: tuple[int, ...]  # of the test images
    nuisance: Any
    samples: int
    seed: int
    device: str | None

    def _things(self, classifiers: Mapping[str, Any]) -> Things:
        wanted = {ROBUSTNESS: MeasureEntry(kind=ROBUSTNESS, samples=self.samples)}
        if AFTER in classifiers:
            wanted[DIFFERENCE] = MeasureEntry(kind=DIFFERENCE)
        name = self.nuisance if isinstance(self.nuisance, str) else nuisances.spec_of(self.nuisance)
        sets = {TEST: (self.images, Selection(ids=self.ids))}
        return Things(classifiers, sets, {name: self.nuisance}, wanted, self.seed)

    def _study(self, things: Things) -> Study:
        return things.study().model_copy(update={"title": self.title})

    def _run(self, classifiers: Mapping[str, Any], progress: Progress) -> Done:
        things = self._things(classifiers)
        return run_things(things, self.folder, study=self._study(things), device=self.device, progress=progress)

    def begin(self, progress: Progress) -> None:
        """Measures the classifier as it was; a folder that has been begun is only held against what is wanted."""
        folder, before = RunFolder(self.folder), {BEFORE: self.before}
        if not folder.exists():
            self._run(before, progress)
            return
        with folder.locked():
            kept = folder.read_study()["classifiers"]
            after = {AFTER: kept[AFTER]["spec"]} if AFTER in kept else {}
            folder.compare(self._study(self._things(before | after)).resolved())

    def end(self, after: Any, progress: Progress) -> BeforeAfter:
        return BeforeAfter(self._run({BEFORE: self.before, AFTER: after}, progress))


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
    """The same where nothing is kept."""
    classifiers = {BEFORE: before, AFTER: after}
    wanted = {ROBUSTNESS: MeasureEntry(kind=ROBUSTNESS, samples=samples), DIFFERENCE: MeasureEntry(kind=DIFFERENCE)}
    return BeforeAfter(_measured(classifiers, images, nuisance, wanted, seed, device, progress))


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
