"""What a report can still load of a run: summary and study always, images and classifiers where they are still there.

A report must be written even when the image file is gone or a classifier's package is no longer installed; what is
missing is said in it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from brittle.api import fingerprints
from brittle.classifiers import classifier
from brittle.engine.folder import RunFolder
from brittle.engine.job import CHECKED_IMAGES, Chosen, Job
from brittle.errors import BrittleError
from brittle.images import image_set
from brittle.images.base import ImageSet
from brittle.nuisances import nuisances
from brittle.study import Study, choose, equipped
from brittle.types import Classifier, Nuisance

T = TypeVar("T")


@dataclass(frozen=True)
class Run:
    """A finished run as its report sees it; the three mappings hold what could be loaded."""

    folder: RunFolder
    study: Study
    summary: dict[str, Any]
    environment: dict[str, Any]
    begun: dict[str, Any]
    images: Mapping[str, Chosen]
    nuisances: Mapping[str, Nuisance]
    classifiers: Mapping[str, Classifier]
    missing: tuple[str, ...]  # a sentence for each thing that could not be loaded

    @property
    def job(self) -> Job:
        """For the plan and the random streams; only what could be loaded is in it."""
        return Job(
            classifiers=self.classifiers,
            images=self.images,
            nuisances=self.nuisances,
            streams={name: nuisances.name_of(space) for name, space in self.nuisances.items()},
            measures=self.study.measures(),
            seed=self.study.seed,
        )

    @property
    def finished(self) -> datetime:
        """When the summary was written, to the minute."""
        return datetime.fromtimestamp(self.folder.summary.stat().st_mtime, UTC)

    @property
    def study_hash(self) -> str:
        return hashlib.sha256(self.folder.study.read_bytes()).hexdigest()

    def results(self, images: str, nuisance: str | None = None) -> list[dict[str, Any]]:
        """What robustness says; nothing where it was not measured."""
        return self._of("results", images, nuisance)

    def comparisons(self, images: str, nuisance: str | None = None) -> list[dict[str, Any]]:
        return self._of("comparisons", images, nuisance)

    def weak_points(self, images: str, nuisance: str | None = None) -> list[dict[str, Any]]:
        """An entry per nuisance and classifier; none where weak points were not sampled."""
        return self._of("weak_points", images, nuisance)

    def _of(self, key: str, images: str, nuisance: str | None) -> list[dict[str, Any]]:
        return [
            entry
            for entry in self.summary.get(key, ())
            if entry["image_set"] == images and nuisance in (None, entry["nuisance"])
        ]

    def class_count(self, name: str) -> int | None:
        """How many classes a classifier tells apart: from itself, or from its first answers kept by the run."""
        if name in self.classifiers:
            return len(self.classifiers[name].labels)
        answers = next(iter(self.begun.get("answers", {}).get(name, {}).values()), None)
        return len(answers[0]) if answers else None

    def class_name(self, name: str, images: ImageSet | None, predicted: int) -> str:
        """What a classifier calls its class: its own word, else the image set's where classes go by number."""
        labels = self.classifiers[name].labels if name in self.classifiers else ()
        classes = images.classes if images is not None and labels else ()
        numbered = all(label == str(place) for place, label in enumerate(labels))
        if labels and (not numbered or (classes and set(classes) <= set(labels))):
            return str(labels[predicted])
        return classes[predicted] if predicted < len(classes) else f"class {predicted}"


def load(path: Path) -> Run:
    """Everything a report needs of the run in `path`."""
    folder = RunFolder(path)
    study, summary = Study.of(folder.read_study(), str(folder.study)), folder.read_summary()
    begun = _json(folder.begun)
    summed = [{entry["classifier"] for entry in summary[key]} for key in ("results", "weak_points") if key in summary]
    lacking = set(study.classifiers) - set.intersection(*summed) if summed else set()
    if lacking:
        raise BrittleError(
            f"the run in {path} is not finished: nothing is summed up for {', '.join(sorted(lacking))}",
            "Give `brittle run` again to go on with it.",
        )
    missing: list[str] = []
    spaces = _available(study.nuisances, lambda spec: equipped(nuisances.build(spec)), "nuisance", missing)
    chosen = _available(
        {name: name for name in study.images}, lambda name: _images(study, name, begun), "image set", missing
    )
    loaded = _available(study.classifiers, lambda spec: _classifier(spec, chosen), "classifier", missing)
    return Run(folder, study, summary, _json(folder.environment), begun, chosen, spaces, loaded, tuple(missing))


def _json(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return found


def _available(wanted: Mapping[str, str], build: Callable[[str], T], noun: str, missing: list[str]) -> dict[str, T]:
    """What can be built; a sentence for what can't."""
    found = {}
    for name, spec in wanted.items():
        try:
            found[name] = build(spec)
        except (BrittleError, OSError) as error:
            reason = error.what if isinstance(error, BrittleError) else str(error)
            missing.append(f"The {noun} {name} can't be loaded any more: {reason}.")
    return found


def _images(study: Study, name: str, begun: dict[str, Any]) -> Chosen:
    """The images in planned order, if they are still those of the run."""
    entry, wanted = study.images[name], study.measures()
    whole = image_set(entry.spec)
    chosen = choose(whole, wanted, seed=study.seed, count=entry.count, where=entry.where, ids=entry.ids)
    now = fingerprints(Job(classifiers={}, images={name: chosen}, nuisances={}, streams={}, measures=wanted))[name]
    if begun.get("images", {}).get(name, now) != now:
        raise BrittleError("its ids, labels or pixels are no longer those of the run")
    chosen.images.batch([0])
    return chosen


def _classifier(spec: str, images: Mapping[str, Chosen]) -> Classifier:
    """Loaded on the CPU and settled on the images the run settled it on, so that it answers as it did then."""
    found = classifier(spec, device="cpu")
    check = getattr(found, "check", None)
    if check is not None:
        for chosen in images.values():
            for group in chosen.images.groups(range(min(CHECKED_IMAGES, len(chosen.images)))):
                check(group.batch.images)
    return found
