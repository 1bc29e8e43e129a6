"""Before and after: two classifiers on the same test images and the same θ, and their paired differences."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from brittle.commands import ExecutionOptions
from brittle.engine.inputs import Inputs
from brittle.engine.open import open_inputs
from brittle.engine.run import FinishedRun, run
from brittle.engine.store.run_folder import RunFolder
from brittle.images.base import ImageSet
from brittle.measures.before_after.measure import KIND as DIFFERENCE
from brittle.measures.robustness.measure import KIND as ROBUSTNESS
from brittle.nuisances import nuisances
from brittle.progress import Progress
from brittle.types import Nuisance

BEFORE, AFTER, TEST = "before", "after", "test"


class BeforeAfterRun(NamedTuple):
    """What was found on the test images."""

    run: FinishedRun

    @property
    def found(self) -> dict[str, Any]:
        """summary.json of the run."""
        return self.run.summary

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
    source: Any  # of the images
    images: ImageSet
    ids: tuple[int, ...]  # of the test images
    nuisance: Any
    samples: int
    seed: int
    device: str | None

    def _inputs(self, classifiers: Mapping[str, Any]) -> Inputs:
        name = self.nuisance if isinstance(self.nuisance, str) else nuisances.spec_of(self.nuisance)
        inputs = open_inputs(
            {
                "title": self.title,
                "seed": self.seed,
                "classifiers": dict(classifiers),
                "images": {TEST: {"spec": self.source, "ids": self.ids}},
                "nuisances": {name: self.nuisance},
                "measures": _measures(self.samples, compared=AFTER in classifiers),
            }
        )
        return dataclasses.replace(inputs, objects={**inputs.objects, "images": {TEST: self.images}})

    def _run(self, classifiers: Mapping[str, Any], progress: Progress) -> FinishedRun:
        return run(self._inputs(classifiers), self.folder, ExecutionOptions(device=self.device), progress)

    def begin(self, progress: Progress) -> None:
        """Measures the classifier as it was; a folder that has been begun is only held against what is wanted."""
        folder, before = RunFolder(self.folder), {BEFORE: self.before}
        if not folder.exists():
            self._run(before, progress)
            return
        with folder.locked():
            kept = folder.read_study()["classifiers"]
            after = {AFTER: kept[AFTER]["spec"]} if AFTER in kept else {}
            folder.compare(self._inputs(before | after).study.resolved())

    def end(self, after: Any, progress: Progress) -> BeforeAfterRun:
        return BeforeAfterRun(self._run({BEFORE: self.before, AFTER: after}, progress))


def in_memory(
    before: Any,
    after: Any,
    images: ImageSet,
    nuisance: Nuisance,
    samples: int,
    seed: int,
    device: str,
    progress: Progress,
) -> BeforeAfterRun:
    """The same where nothing is kept."""
    return BeforeAfterRun(_measured({BEFORE: before, AFTER: after}, images, nuisance, samples, seed, device, progress))


def held_out_result(
    classifier: Any, images: ImageSet, nuisance: Nuisance, samples: int, seed: int, device: str, progress: Progress
) -> dict[str, Any]:
    """One classifier on the held-out images."""
    found = _measured({BEFORE: classifier}, images, nuisance, samples, seed, device, progress)
    result: dict[str, Any] = found.summary["measures"][ROBUSTNESS]["results"][0]
    return result


def _measured(
    classifiers: Mapping[str, Any],
    images: ImageSet,
    nuisance: Nuisance,
    samples: int,
    seed: int,
    device: str,
    progress: Progress,
) -> FinishedRun:
    inputs = open_inputs(
        {
            "seed": seed,
            "classifiers": dict(classifiers),
            "images": {TEST: dataclasses.replace(images, name=TEST)},
            "nuisances": {nuisances.spec_of(nuisance): nuisance},
            "measures": _measures(samples, compared=AFTER in classifiers),
        }
    )
    return run(inputs, how=ExecutionOptions(device=device), progress=progress)


def _measures(samples: int, *, compared: bool) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {ROBUSTNESS: {"kind": ROBUSTNESS, "samples": samples}}
    return found | ({DIFFERENCE: {"kind": DIFFERENCE}} if compared else {})
