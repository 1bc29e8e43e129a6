"""What the labels of a benchmark say: how many of each, at which scale, whether the shift is seen, who agrees.

The share that is out of class (CNS-Bench, A.10) speaks of the whole benchmark only where the labelled images were drawn
from it at random, which the labels don't show; `brittle label --count` draws them so.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from brittle.generation.labels.agreement import DRAWS, Agreement, agreements
from brittle.generation.labels.rule import VERDICTS, Verdict, described, verdicts
from brittle.generation.labels.store import EXAMPLE, ImageLabel, Labeller
from brittle.images.scales.cns import CnsFile
from brittle.statistics.crossed import crossed_weights, share_interval
from brittle.statistics.estimate import Estimate
from brittle.statistics.intervals import binomial_bounds


class LabelsAtScale(NamedTuple):
    """Of the images at one scale."""

    scale: float
    verdicts: Mapping[Verdict, int]
    shift_visible: Estimate  # share of answers (table 9); NaN where nobody was asked


class ExampleAnswers(NamedTuple):
    """What one labeller says of real examples, which do show their class."""

    name: str
    recognised: int
    examples: int


@dataclass(frozen=True)
class LabelSummary:
    """All of it."""

    whose: str
    labellers: int
    images: int
    by_two: int  # images that at least two have labelled
    out_of_class: Estimate
    standard_error: float  # of that share, as the paper gives it: one σ
    scales: Sequence[LabelsAtScale]
    agreements: Sequence[Agreement]
    examples: Sequence[ExampleAnswers]

    @property
    def values(self) -> dict[str, Any]:
        return {
            "labels_of": self.whose,
            "labellers": self.labellers,
            "images": self.images,
            "images_labelled_twice": self.by_two,
            **self.out_of_class.named("out_of_class"),
            "out_of_class_standard_error": None if math.isnan(self.standard_error) else self.standard_error,
            "scales": [
                {
                    "scale": each.scale,
                    **{name.replace(" ", "_"): each.verdicts.get(name, 0) for name in VERDICTS},
                    **each.shift_visible.named("shift_visible"),
                }
                for each in self.scales
            ],
            "agreement": [
                {
                    "first": each.first,
                    "second": each.second,
                    "images": each.images,
                    **each.same.named("same"),
                    **each.kappa.named("kappa"),
                }
                for each in self.agreements
            ],
            "examples": [each._asdict() for each in self.examples],
        }


def summary_of(
    labellers: Sequence[Labeller], files: Iterable[CnsFile], confidence: float = 0.95, seed: int = 0
) -> LabelSummary:
    """Of the labels of a benchmark's images; labels of other images are left out."""
    by_file = {each.file: each for each in files}
    ours = [_only(each, by_file) for each in labellers]
    found = verdicts(ours)
    wrong, count = sum(each == "out of class" for each in found.values()), len(found)
    share = wrong / count if count else math.nan
    bounds = binomial_bounds(wrong, count, confidence).pair() if count else None
    labelled = Counter(image for each in ours for image in each.generated)
    return LabelSummary(
        described(ours),
        len(ours),
        count,
        sum(times > 1 for times in labelled.values()),
        Estimate.between(share, bounds),
        math.sqrt(share * (1 - share) / count) if count else math.nan,
        [_at(scale, ours, found, by_file, confidence, seed) for scale in _scales(found, by_file)],
        agreements(ours, {name: each.key for name, each in by_file.items()}, confidence, seed),
        [_examples(each) for each in ours],
    )


def _only(labeller: Labeller, by_file: Mapping[str, CnsFile]) -> Labeller:
    kept = {
        image: answer for image, answer in labeller.answers.items() if image in by_file or image.startswith(EXAMPLE)
    }
    return Labeller(labeller.name, labeller.proxy, kept)


def _scales(found: Mapping[str, Verdict], by_file: Mapping[str, CnsFile]) -> list[float]:
    return sorted({by_file[image].scale for image in found})


def _at(
    scale: float,
    labellers: Sequence[Labeller],
    found: Mapping[str, Verdict],
    by_file: Mapping[str, CnsFile],
    confidence: float,
    seed: int,
) -> LabelsAtScale:
    here = {image for image in found if by_file[image].scale == scale}
    answers = [each for who in labellers for image, each in who.generated.items() if image in here]
    asked = [each for each in answers if each.shift_visible is not None]
    counts = Counter(found[image] for image in here)
    return LabelsAtScale(scale, counts, _visible(asked, by_file, confidence, seed))


def _visible(answers: Sequence[ImageLabel], by_file: Mapping[str, CnsFile], confidence: float, seed: int) -> Estimate:
    """The share of answers that see the shift; images of one class and seed are drawn together."""
    if not answers:
        return Estimate()
    seen = np.array([float(bool(each.shift_visible)) for each in answers])
    group = np.unique([by_file[each.image].key for each in answers], return_inverse=True)[1]
    drawn = [each @ seen / each.sum(1) for each in crossed_weights(len(seen), [group], DRAWS, seed)]
    share = float(seen.mean())
    return Estimate.between(
        share, share_interval(share, np.concatenate(drawn), [group], np.ones_like(seen), confidence)
    )


def _examples(labeller: Labeller) -> ExampleAnswers:
    said = [each.label for image, each in labeller.answers.items() if image.startswith(EXAMPLE)]
    return ExampleAnswers(labeller.name, said.count("class"), len(said))
