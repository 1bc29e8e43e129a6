"""after − before on the same images and the same θ: ρ, accuracy under the nuisance and clean, and by class.

Derived entirely from the rows of robustness and of clean predictions; intervals of classes are simultaneous over the
classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from brittle.measures import register
from brittle.measures.base import About, Derived, MeasureInputs, Read, RunView, pairs_of, refuse_unknown
from brittle.measures.before_after.options import BeforeAfterOptions
from brittle.measures.robustness.estimate import estimate
from brittle.measures.robustness.fold import RobustnessFold
from brittle.measures.robustness.measure import KIND as ROBUSTNESS
from brittle.measures.robustness.options import RobustnessOptions
from brittle.measures.robustness.summary import ClassifierTally, findings
from brittle.statistics.estimate import mean
from brittle.statistics.intervals import simultaneous

KIND = "before-after"


@register(KIND)
@dataclass(frozen=True)
class BeforeAfter(BeforeAfterOptions, Derived):
    """What became of a classifier: paired differences of ρ and accuracy, also by class."""

    reads: ClassVar = (Read(ROBUSTNESS),)

    def check(self, about: About, asked: MeasureInputs) -> None:
        for name in (self.before, self.after):
            refuse_unknown(name, asked.classifiers, "there is no classifier {!r} to hold against another")

    def summarise(self, run: RunView) -> dict[str, Any]:
        measured = run.read(ROBUSTNESS)
        assert measured is not None
        return {
            "differences": [
                {"before": self.before, "after": self.after, "image_set": images, "nuisance": nuisance}
                | self._difference(measured, images, nuisance)
                for images, nuisance in pairs_of(measured)
            ]
        }

    def _difference(self, run: RunView, images: str, nuisance: str) -> dict[str, Any]:
        fold = run.fold(run.cell(self.before, images, nuisance))
        assert isinstance(fold, RobustnessFold)
        options, subject, found = fold.options, run.images[images], findings(run, images, nuisance)
        seen = min(found[name].reach.images for name in (self.before, self.after))
        labels = subject.labels[:seen]
        present = np.unique(labels)
        together = simultaneous(options.confidence, len(present))
        every = np.ones(len(subject), dtype=bool)
        by_class = [
            {"label": int(label), "class": subject.class_name(int(label)), "images": int((labels == label).sum())}
            | self._moved(options, found, subject.population, subject.labels == label, together)
            for label in present
        ]
        return self._moved(options, found, subject.population, every, options.confidence) | {
            "confidence": options.confidence,
            "classes": by_class,
        }

    def _moved(
        self,
        options: RobustnessOptions,
        found: Mapping[str, ClassifierTally],
        population: int,
        only: NDArray[np.bool_],
        confidence: float,
    ) -> dict[str, Any]:
        before, after = found[self.before], found[self.after]
        shorter = min(before.reach, after.reach, key=lambda reach: reach.units)
        of = partial(estimate, options, after.tally, shorter, population, only=only, minus=before.tally)
        right = [(each.clean["rank"][: shorter.images] == 0).astype(np.float64) for each in (after, before)]
        gained = (right[0] - right[1])[only[: shorter.images]]
        return {
            **of("confidence", confidence=confidence).named("rho"),
            **of("correct", confidence=confidence).named("accuracy_nuisance"),
            **mean(gained, confidence, support=(-1.0, 1.0)).named("accuracy_clean"),
        }
