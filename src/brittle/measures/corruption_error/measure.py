"""CE and rCE against a reference classifier, per shift, and their means over shifts.

Derived from the rows of failure points and of clean predictions. Hendrycks & Dietterich 2019 divide by AlexNet; its
published errors stand in for it on image sets in ImageNet-C's layout, and nowhere else: on other images they would be
another classifier's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from brittle.errors import BrittleError
from brittle.measures import register
from brittle.measures.base import IMAGES, PATH, About, Derived, ImageSetFacts, MeasureInputs, RunView, refuse_unknown
from brittle.measures.corruption_error.options import PUBLISHED, CorruptionErrorOptions
from brittle.measures.shifted import READ, ShiftedAnswers, shifted_answers, shifts_with_paths
from brittle.statistics.betting_ratio import ratio_of_sums
from brittle.statistics.corruption_error import (
    ALEXNET,
    ALEXNET_SEVERITIES,
    CorruptionErrors,
    ShiftErrors,
    corruption_errors,
    published_alexnet,
)
from brittle.statistics.estimate import Estimate
from brittle.types import InBenchmark, Nuisance

KIND = "corruption-error"
CLASSES, SIZE = 1000, (224, 224)  # of ImageNet-C
LEVELS = tuple(float(level) for level in range(1, ALEXNET_SEVERITIES + 1))


@register(KIND)
@dataclass(frozen=True)
class CorruptionError(CorruptionErrorOptions, Derived):
    """Errors under shifts divided by those of a reference classifier: CE, rCE, and their means over shifts."""

    over: ClassVar = frozenset({IMAGES, PATH})
    reads: ClassVar = (READ,)

    def check(self, about: About, asked: MeasureInputs) -> None:
        if self.reference:
            known = [*asked.classifiers, PUBLISHED]
            refuse_unknown(self.reference, known, "the reference {!r} is not among the classifiers")
        if self.reference == PUBLISHED and _corruption(about.nuisance) is None:
            raise BrittleError(
                f"{PUBLISHED} has nothing to say of {about.nuisance_name!r} on {about.images!r}: it is not one of "
                "ImageNet-C's corruptions, stored at severities 1 to 5",
                "Name a classifier of the study as the reference.",
            )

    def summarise(self, run: RunView) -> dict[str, Any]:
        results, warnings = [], list[str]()
        for images, nuisances in shifts_with_paths(run).items():
            found = {nuisance: shifted_answers(run, images, nuisance) for nuisance in nuisances}
            results += self._one_set(run, images, found, warnings)
        return {"results": results, "warnings": warnings}

    def _one_set(
        self, run: RunView, images: str, found: Mapping[str, ShiftedAnswers], warnings: list[str]
    ) -> list[dict[str, Any]]:
        names = list(next(iter(found.values())).right)
        errors = {name: {nuisance: _errors(each, name) for nuisance, each in found.items()} for name in names}
        reference = self.reference or names[0]
        if reference == PUBLISHED:
            warnings += _other_images(run.images[images], images)
        divided_by = self._published(run, found) if reference == PUBLISHED else errors[reference]
        said = corruption_errors(errors, divided_by, self.confidence, self.resamples, run.seed)
        for nuisance in found:
            example = next(iter(said.values()))
            if reference == PUBLISHED and found[nuisance].severities != LEVELS:
                warnings.append(
                    f"{PUBLISHED} has AlexNet's errors over severities 1 to 5, and {nuisance!r} on {images!r} was "
                    "measured at others: there is no CE"
                )
                continue
            if math.isnan(example.ce[nuisance].value):
                warnings.append(f"{reference!r} makes no error under {nuisance!r} on {images!r}: there is no CE")
            if found[nuisance].clean is None:
                continue  # the image set has said so
            if math.isnan(example.rce[nuisance].value):
                warnings.append(f"{reference!r} does not drop under {nuisance!r} on {images!r}: there is no rCE")
            elif any(each.rce[nuisance].interval is None for each in said.values()):
                warnings.append(
                    f"the drop of {reference!r} under {nuisance!r} on {images!r} may be none at all: rCE has no "
                    "interval there; measure more images, or higher severities"
                )
        return [
            {
                "classifier": name,
                "image_set": images,
                "reference": reference,
                "confidence": self.confidence,
                "resamples": self.resamples,
                "seed": run.seed,
            }
            | _means(said[name], errors[name], run.images[images], self.confidence)
            | {"shifts": [_one_shift(nuisance, each, name, said[name]) for nuisance, each in found.items()]}
            for name in names
        ]

    def _published(self, run: RunView, found: Mapping[str, ShiftedAnswers]) -> dict[str, ShiftErrors]:
        """AlexNet's errors under ImageNet-C's corruptions, as means over its five severities; NaN at others."""
        of = {}
        for nuisance, each in found.items():
            corruption = _corruption(run.nuisances[nuisance])
            assert corruption is not None, "refused before work began"
            errors = published_alexnet(corruption, each.images, ALEXNET_SEVERITIES)
            of[nuisance] = errors if each.severities == LEVELS else errors.unknown()
        return of


def _corruption(nuisance: Nuisance | None) -> str | None:
    """What ImageNet-C calls a shift of an image set in its layout, if it is one of the fifteen."""
    if not isinstance(nuisance, InBenchmark):
        return None
    benchmark, _, corruption = nuisance.benchmark.partition(":")
    return corruption if benchmark == "imagenet-c" and corruption in ALEXNET else None


def _other_images(subject: ImageSetFacts, images: str) -> list[str]:
    """A warning where a set in ImageNet-C's layout does not hold what AlexNet was tried on."""
    (_, height, width), classes = subject.shape, len(subject.classes)
    if (height, width) == SIZE and classes == CLASSES:
        return []
    return [
        f"{PUBLISHED} stands for AlexNet's published errors of ImageNet-C, {CLASSES:,} classes at "
        f"{SIZE[0]}×{SIZE[1]}, and {images!r} has {classes:,} at {height}×{width}: its mCE can't be set beside "
        "published ones"
    ]


def _errors(found: ShiftedAnswers, classifier: str) -> ShiftErrors:
    return ShiftErrors.of(found.images, found.share(classifier), found.clean_share(classifier))


def _means(
    said: CorruptionErrors, errors: Mapping[str, ShiftErrors], subject: ImageSetFacts, confidence: float
) -> dict[str, Any]:
    """mCE and mean rCE are means over shifts; the drop is one over images, all shifts pooled. Its interval rests on the
    planned order of the images; by size of id it might be that of the classes."""
    place = subject.places(np.concatenate([each.images for each in errors.values()]))
    drops = np.concatenate([each.drop / each.scales for each in errors.values()])
    total, count = np.bincount(place, drops, len(subject)), np.bincount(place, minlength=len(subject))
    total, count = total[count > 0], count[count > 0]
    known = not np.isnan(total).any()
    pooled = ratio_of_sums(total, count, confidence, support=(-1.0, 1.0)) if known else Estimate()
    return {
        **said.mce.named("mce"),
        **said.mean_rce.named("mean_rce"),
        **pooled.named("drop_over_images"),
        "images": len(count),
    }


def _one_shift(nuisance: str, found: ShiftedAnswers, classifier: str, said: CorruptionErrors) -> dict[str, Any]:
    return {
        "nuisance": nuisance,
        "unit": found.unit,
        "severities": list(found.severities),
        "images": len(found.images),
        "error_clean": None if found.clean is None else float(1 - found.clean_share(classifier).mean()),
        "errors": (1 - found.accuracy(classifier)).tolist(),
        **said.ce[nuisance].named("ce"),
        **said.rce[nuisance].named("rce"),
    }
