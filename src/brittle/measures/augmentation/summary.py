"""What augmentations say: affinity with an interval, per classifier and over the runs of a model, and diversity.

Per-image differences, or per-pair ones where two images are mixed, are independent; intervals are betting intervals of
their mean. Diversity is a single number of each training: over several runs of a model its spread is given, and of one
run there is no interval.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from brittle.errors import BrittleError
from brittle.measures.arrays import Array, per_image
from brittle.measures.augmentation.augmented import in_pairs, opened
from brittle.measures.base import ClassifierFacts, ImageSetFacts, RunView
from brittle.measures.clean.measure import clean_right
from brittle.measures.distortion import INTERFERENCE_KEY, DistortionPart, interference_row, models
from brittle.measures.folds import ImageSums
from brittle.statistics.estimate import mean

if TYPE_CHECKING:
    from brittle.measures.augmentation.measure import Augmentation

DIVERSITY, MIX_DIVERSITY = "diversity", "mix_diversity"
WHERE = "on augmented images"
WHICH = ("augmentation", "mix")  # attributes that say what a classifier was trained with


def summarise_run(measure: Augmentation, run: RunView) -> dict[str, Any]:
    """A result per reference classifier, image set and augmentation; the same over the runs of a model; diversities."""
    names = [name for name, facts in run.classifiers.items() if measure.is_reference(facts)]
    results = [row for images in run.images for name in names for row in _classifier(measure, run, name, images)]
    return {
        "results": results,
        "models": list(_models(results)),
        INTERFERENCE_KEY: _interference_of(measure, run, names),
        "diversities": [one for one in (_diversity(measure, each) for each in run.classifiers.values()) if one],
    }


def _classifier(measure: Augmentation, run: RunView, name: str, images: str) -> list[dict[str, Any]]:
    sums: ImageSums = run.fold(run.cell(name, images)).compute()
    clean = clean_right(run, name, images).astype(np.float64)
    found = []
    for number, spec in enumerate(measure.of):
        pairs, counts = in_pairs(opened(spec)), sums.counts[number]
        after, before = per_cluster(sums.of_group("right", number), counts, clean, 2 if pairs else 1)
        found.append(
            {
                "classifier": name,
                "group": run.classifiers[name].group or name,
                "image_set": images,
                "augmentation": spec,
                **mean(after - before, measure.confidence, support=(-1.0, 1.0)).scaled(100).named("affinity"),
                **mean(after, measure.confidence).named("accuracy_augmented"),
                "accuracy_clean": float(before.mean()),
                "images": int((counts > 0).sum()),
                "pairs": len(after) if pairs else None,
                "samples": measure.samples,
                "mean_share": float(sums.of_group("share", number).sum() / counts.sum()) if counts.any() else None,
                "confidence": measure.confidence,
                "seed": run.seed,
            }
        )
    return found


def _interference_of(measure: Augmentation, run: RunView, references: list[str]) -> list[dict[str, Any]]:
    """Whether what the reference classifiers get wrong goes to one class, by augmentation."""
    found = []
    for images, (group, names) in itertools.product(run.images, models(run)):
        asked = [name for name in names if name in references]
        for number, spec in enumerate(measure.of if asked else ()):
            found.append(
                interference_row(run, group, asked, images, "", WHERE, DistortionPart(spec, "augmentation", number))
            )
    return found


def per_cluster(right: Array, counts: NDArray[np.uint32], clean: Array, size: int) -> tuple[Array, Array]:
    """Accuracy augmented and clean of each image, or of each pair of neighbours, that has rows: (clusters,) each. Of
    `counts` (M,) rows of an image so many are `right` (M,)."""
    there, cluster = counts > 0, np.arange(len(clean)) // size
    some = np.unique(cluster[there])
    after = np.bincount(cluster, right)[some] / np.bincount(cluster, counts)[some]
    return after, per_image(clean[there], cluster[there], len(clean))[some]


def sums_by_augmentation(subject: ImageSetFacts, augmentations: int) -> ImageSums:
    """Right answers and shares of the other image, summed over an image's rows."""

    def of(rows: pa.Table) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        values = {"right": rows["rank"].to_numpy() == 0, "share": rows["share"].to_numpy()}
        return rows["augmentation"].to_numpy(), values

    return ImageSums(subject, augmentations, of)


def _models(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Affinity over the runs of each model: its mean, and its standard deviation where there are several."""
    by: dict[tuple[str, str, str], list[float]] = {}
    for row in results:
        by.setdefault((row["group"], row["image_set"], row["augmentation"]), []).append(row["affinity"])
    return [
        {
            "group": group,
            "image_set": images,
            "augmentation": spec,
            "runs": len(values),
            "affinity": float(np.mean(values)),
            "spread": float(np.std(values, ddof=1)) if len(values) > 1 else None,
        }
        for (group, images, spec), values in by.items()
    ]


def _diversity(measure: Augmentation, facts: ClassifierFacts) -> dict[str, Any] | None:
    """What a classifier's weights, or its entry, say of the loss it was trained to."""
    said = {**facts.trained, **facts.attributes}
    if not any(isinstance(said.get(key), (int, float)) for key in (DIVERSITY, MIX_DIVERSITY)):
        return None
    told = next((str(said[key]) for key in WHICH if said.get(key)), "")
    return {
        "classifier": facts.name,
        "group": facts.group or facts.name,
        "augmentation": _trained_augmentation(measure, told, facts),
        "trained_with": told,
        DIVERSITY: _number(said.get(DIVERSITY)),
        MIX_DIVERSITY: _number(said.get(MIX_DIVERSITY)),
    }


def _trained_augmentation(measure: Augmentation, told: str, facts: ClassifierFacts) -> str | None:
    """The augmentation of this measure that a classifier was trained with: what it says, or else what its group is
    called; None for another one, or none at all."""
    for spec in measure.of:
        if told:
            try:
                same = opened(told) == opened(spec)
            except BrittleError:
                same = False
            if told == spec or same:
                return spec
        elif facts.group == spec:
            return spec
    return None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
