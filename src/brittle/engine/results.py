"""From stored rows to summary.json: what every measure of a job says, and what it was said of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from brittle.engine.job import CLEAN, Chosen, Job, reference_labels
from brittle.engine.store import Cell, Store
from brittle.images.base import ImageSet
from brittle.measures.base import Subject
from brittle.measures.plan import Span, Unit
from brittle.types import Classifier, Nuisance


@dataclass(frozen=True)
class JobView:
    """A job's rows of one measure."""

    job: Job
    store: Store
    measure: str

    @property
    def classifiers(self) -> Mapping[str, Classifier]:
        return self.job.classifiers

    @property
    def nuisances(self) -> Mapping[str, Nuisance]:
        return self.job.nuisances

    @property
    def subjects(self) -> dict[str, Subject]:
        return {name: _with_names(chosen.subject, self.classifiers) for name, chosen in self.job.images.items()}

    @property
    def seed(self) -> int:
        return self.job.seed

    def units(self, images: str, nuisance: str) -> list[Unit]:
        return self.job.units(self.measure, images, nuisance)

    def rows(self, classifier: str, images: str, nuisance: str) -> Iterator[tuple[Span, pa.Table]]:
        return self.store.read(Cell(self.measure, classifier, images, nuisance))

    def clean(self, classifier: str, images: str) -> dict[str, NDArray[Any]]:
        return clean_columns(self.job, self.store, images, classifier)

    def references(self, classifier: str, images: str) -> NDArray[np.int64]:
        found = reference_labels(self.job.classifiers[classifier], classifier, self.job.images[images].images)
        return np.asarray(found.numpy(), np.int64)

    def prior(self, images: str, nuisance: str) -> str:
        return _prior(self.job.nuisances[nuisance], self.job.images[images].images)


def _with_names(subject: Subject, classifiers: Mapping[str, Classifier]) -> Subject:
    """Classes that the images leave without names are called as the classifiers call them, where these agree."""
    names = {tuple(each.labels) for each in classifiers.values()}
    if subject.classes or len(names) != 1 or all(label.isdecimal() for label in next(iter(names))):
        return subject
    return subject._replace(classes=next(iter(names)))


def clean_columns(job: Job, store: Store, images: str, classifier: str) -> dict[str, NDArray[Any]]:
    """The clean rows in planned order; images not reached are left at −1."""
    count = len(job.images[images].images)
    units = job.units(CLEAN, images, CLEAN)
    columns: dict[str, NDArray[Any]] = {
        "predicted": np.full(count, -1, dtype=np.int64),
        "rank": np.full(count, -1, dtype=np.int64),
        "log_p_label": np.full(count, np.nan),
        "log_p_predicted": np.full(count, np.nan),
    }
    for span, rows in store.read(Cell(CLEAN, classifier, images, CLEAN)):
        here = slice(units[span.first].first_image, units[span.end - 1].end_image)
        for name, values in columns.items():
            values[here] = rows[name].to_numpy()
    return columns


def summary(job: Job, store: Store) -> dict[str, Any]:
    """summary.json: what every measure says, warnings, and what was used."""
    found: dict[str, Any] = {}
    warnings: list[str] = []
    for name, measure in job.measures.items():
        said = measure.summarise(JobView(job, store, name))
        warnings += said.pop("warnings", [])
        found |= said
    for images in job.images:
        warnings += _chosen_otherwise(job, images)
    return found | {
        "warnings": list(dict.fromkeys(warnings)),
        "classifiers": {name: {"labels": list(each.labels)} for name, each in job.classifiers.items()},
        "image_sets": {name: _described(chosen) for name, chosen in job.images.items()},
        "skipped": {name: list(chosen.whole.skipped) for name, chosen in job.images.items()},
    }


def _described(chosen: Chosen) -> dict[str, Any]:
    images = chosen.images
    described = {
        "images": len(images),
        "population": len(chosen.whole),
        "shape": list(images.shape),
        "classes": list(images.classes),
    }
    if len(images.shapes) > 1:
        described |= {"median_shape": list(images.median_shape), "shapes": len(images.shapes)}
    return described


def _prior(space: Nuisance, images: ImageSet) -> str:
    """What the prior means on these images; where they differ in size, on the one in the middle."""
    _, height, width = images.median_shape
    meant = space.describe(height, width)
    return meant if len(images.shapes) == 1 else f"{meant} (on the median image, {width}×{height})"


def _chosen_otherwise(job: Job, name: str) -> list[str]:
    """What a user may not expect of the images: fewer than asked for, or classes matched by number."""
    chosen, lines = job.images[name], []
    if chosen.asked is not None and chosen.asked > len(chosen.images):
        lines.append(f"the image set {name!r} has {len(chosen.images)} images; {chosen.asked} were asked for")
    classes = chosen.images.classes
    for classifier, each in job.classifiers.items():
        if classes and len(classes) != len(each.labels) and not set(classes) <= set(each.labels):
            shown = ", ".join(f"{label} = {number}" for number, label in enumerate(classes[:3]))
            lines.append(
                f"the classes of {name!r} go to the {len(each.labels)} classes of {classifier!r} by number "
                f"({shown}, …): "
                "if that is wrong, name the classifier's classes with labels=…"
            )
    return lines
