"""Accuracy on the line (CNS-Bench 2025, A.6 and figures 20–24; Miller et al. 2021), over the models of a study.

Derived from the rows of failure points and of clean predictions. A model is a classifier, or all classifiers of one
group, trainings of one model, whose accuracies are averaged. Everything is given on plain axes and on probit axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.errors import BrittleError
from brittle.measures import register
from brittle.measures.arrays import Array
from brittle.measures.base import IMAGES, PATH, About, Derived, MeasureInputs, RunView, refuse_unknown
from brittle.measures.clean.measure import READ as CLEAN
from brittle.measures.clean.measure import clean_right
from brittle.measures.line.attributes import is_number, partials, untested_attributes
from brittle.measures.line.models import ModelTrainings, grouped
from brittle.measures.line.options import FAMILY, LineOptions
from brittle.measures.shifted import READ, ShiftedAnswers, shifted_answers, shifts_with_paths
from brittle.statistics.estimate import Estimate
from brittle.statistics.intervals import simultaneous
from brittle.statistics.line import FEWEST, FittedLine, Gains, gains, line, probit

KIND = "line"
AXES = ("plain", "probit")


class CleanImages(NamedTuple):
    """The images that accuracy without a shift is of."""

    name: str  # as it is reported
    images: str  # the image set
    ids: NDArray[np.int64]
    same: bool  # whether accuracy under shifts is of the same images


@register(KIND)
@dataclass(frozen=True)
class Line(LineOptions, Derived):
    """Whether accuracy under shifts follows from accuracy without, over classifiers, and what is left once it does."""

    over: ClassVar = frozenset({IMAGES, PATH})
    reads: ClassVar = (READ, CLEAN)

    def image_sets(self, asked: Sequence[str], trained_on: Mapping[str, str]) -> dict[str, bool]:
        return {self.id: False} if self.id else {}

    def check(self, about: About, asked: MeasureInputs) -> None:
        if self.id:
            refuse_unknown(self.id, asked.images, "there is no image set {!r} to take accuracy without a shift from")
        models = grouped(asked.classifiers)
        told = [each.attributes for each in asked.classifiers.values()]
        known = {key for each in told for key, value in each.items() if is_number(value)}
        for attribute in self.covariates:
            if not known:
                raise BrittleError(
                    f"no classifier has the attribute {attribute!r}", f"Add {attribute} = … to the classifiers."
                )
            refuse_unknown(attribute, known, "no classifier has the attribute {!r} as a number")
        if self.family != FAMILY:
            named = {key for each in told for key in each}
            refuse_unknown(self.family, named, "no classifier has the attribute {!r}, the family")
        if len(models) < FEWEST:
            raise BrittleError(
                f"a line through {len(models)} models says nothing: it needs at least {FEWEST}",
                "Add classifiers to the study; those of one group are one model.",
            )
        for name in self.baseline:
            everybody = [*asked.classifiers, *models]
            refuse_unknown(name, everybody, "the baseline names {!r}, which is not among the classifiers")
        if self.baseline and len(self._drawn_through(models)) < FEWEST:
            raise BrittleError(f"the baseline has fewer than {FEWEST} models", "Name more, or none for all.")
        if not about.subject.origin and self.id in ("", about.images):
            raise BrittleError(
                f"the image set {about.images!r} has no images at scale 0 to take accuracy without a shift from",
                "Name another image set, id = …; or its images at scale 0, clean=SPEC of the image set.",
            )

    def summarise(self, run: RunView) -> dict[str, Any]:
        models, sets = grouped(run.classifiers), shifts_with_paths(run)
        others = {images: nuisances for images, nuisances in sets.items() if images != self.id}
        results, warnings = [], list[str]()
        for images, nuisances in (others or sets).items():
            found = {nuisance: shifted_answers(run, images, nuisance) for nuisance in nuisances}
            results.append(self._one_set(run, images, found, models))
            warnings += untested_attributes(list(models.values()), self.covariates, self.family)
        return {"results": results, "warnings": list(dict.fromkeys(warnings))}

    def _one_set(
        self, run: RunView, images: str, found: Mapping[str, ShiftedAnswers], models: Mapping[str, ModelTrainings]
    ) -> dict[str, Any]:
        followed = np.unique(np.concatenate([each.images for each in found.values()]))
        clean = self._clean_images(run, images, followed)
        identical, count = _clean_accuracy(run, clean, models), len(clean.ids)
        over = {nuisance: _by_model(each, models) for nuisance, each in found.items()}
        overall = np.mean([each.mean(1) for each in over.values()], 0)
        baseline = np.array([name in self._drawn_through(models) for name in models])
        on = {axis: (_axis(identical, axis, count), _axis(overall, axis, len(followed))) for axis in AXES}
        together = simultaneous(self.confidence, len(models))
        left = {axis: gains(x, y, baseline, together) for axis, (x, y) in on.items()}
        return {
            "image_set": images,
            "identical": f"clean accuracy on {clean.name}",
            "same_images": clean.same,
            "shifted": "accuracy, mean over the severities above 0 and over shifts",
            "models": len(models),
            "confidence": self.confidence,
            "baseline": [name for name, there in zip(models, baseline, strict=True) if there],
            "lines": {axis: _line(line(*both, self.confidence)) for axis, both in on.items()},
            "points": [
                {
                    "model": name,
                    "classifiers": list(model.classifiers),
                    "accuracy": float(identical[place]),
                    "accuracy_shifted": float(overall[place]),
                    **_gain("gain", left["plain"], place),
                    **_gain("effective_robustness", left["probit"], place),
                }
                for place, (name, model) in enumerate(models.items())
            ],
            "partial": partials(
                list(models.values()), self.covariates, self.family, identical, overall, self.confidence
            ),
            "shifts": [
                self._one_shift(nuisance, each, over[nuisance], identical, count) for nuisance, each in found.items()
            ],
        }

    def _one_shift(
        self, nuisance: str, found: ShiftedAnswers, accuracy: Array, identical: Array, count: int
    ) -> dict[str, Any]:
        """Line by severity (figures 20 to 22), with the accuracies of every model behind it."""
        said: dict[str, Any] = {
            "nuisance": nuisance,
            "unit": found.unit,
            "severities": list(found.severities),
            "accuracy_shifted": accuracy.tolist(),
        }
        for axis in AXES:
            x, y = _axis(identical, axis, count), _axis(accuracy, axis, len(found.images))
            lines = [_line(line(x, each, self.confidence)) for each in y.T]
            said[axis] = {key: [each[key] for each in lines] for key in lines[0]}
        return said

    def _clean_images(self, run: RunView, images: str, followed: NDArray[np.int64]) -> CleanImages:
        """Those of the set that `id` names. Otherwise those of the shifted set that are not followed under any shift,
        where they are at least as many, since the same images correlate by themselves; or else those that are."""
        subject = run.images[self.id or images]
        labelled = subject.ids[subject.labels >= 0]
        if self.id:
            return CleanImages(self.id, self.id, labelled, self.id == images)
        others = np.setdiff1d(labelled, followed)
        if len(others) >= len(followed):
            return CleanImages(f"{images}, {len(others):,} images that no shift was applied to", images, others, False)
        return CleanImages(images, images, followed, True)

    def _drawn_through(self, models: Mapping[str, ModelTrainings]) -> list[str]:
        wanted = set(self.baseline)
        return [name for name, model in models.items() if not wanted or wanted & {name, *model.classifiers}]


def _clean_accuracy(run: RunView, clean: CleanImages, models: Mapping[str, ModelTrainings]) -> Array:
    """Without a shift, by model."""
    names = [name for model in models.values() for name in model.classifiers]
    of = {name: _clean(run, name, clean.images, clean.ids) for name in names}
    return np.array([np.mean([of[name] for name in model.classifiers]) for model in models.values()])


def _clean(run: RunView, classifier: str, images: str, ids: NDArray[np.int64]) -> float:
    return float(clean_right(run, classifier, images)[np.isin(run.images[images].ids, ids)].mean())


def _by_model(found: ShiftedAnswers, models: Mapping[str, ModelTrainings]) -> Array:
    """(n, S) accuracy of every model at the severities above 0."""
    return np.stack([np.mean([found.accuracy(name) for name in model.classifiers], 0) for model in models.values()])


def _axis(accuracy: Array, axis: str, images: int) -> Array:
    return accuracy if axis == "plain" else probit(accuracy, images)


def _line(found: FittedLine) -> dict[str, Any]:
    told = {"models": found.points, "intercept": found.intercept, "p_value": found.p_value}
    return told | found.slope.named("slope") | found.correlation.named("correlation")


def _gain(name: str, found: Gains, place: int) -> dict[str, Any]:
    return Estimate(*(float(each[place]) for each in found)).named(name)
