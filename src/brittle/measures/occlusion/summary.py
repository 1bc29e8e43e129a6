"""What occlusion says: accuracy at every share on test and training images, and what becomes of the gap between them.

Accuracies have the intervals of means over images, and A / A₀ is bet on in the same way
(`statistics/betting_ratio.py`). Gaps have Newcombe's interval and iOcclusion has Fieller's (`statistics/fieller.py`),
in which an image is one item with its occluded and its clean answer, and the two image sets are independent. All are
about images and masks, not about other trainings: those are the runs of a `group`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from brittle.measures.arrays import Array
from brittle.measures.base import ImageSetFacts, RunView, evaluated_image_sets, members, two_by_two
from brittle.measures.clean.measure import clean_right
from brittle.measures.folds import ImageSums
from brittle.nuisances import nuisances
from brittle.statistics.betting_ratio import quotient_bounds
from brittle.statistics.estimate import Estimate, mean, means
from brittle.statistics.fieller import SignedSample, difference_of_ratios, difference_of_shares, ratio, standard_errors
from brittle.statistics.intervals import simultaneous
from brittle.types import HidesPixels, HidesShare

if TYPE_CHECKING:
    from brittle.measures.occlusion.measure import Occlusion

FEW = 30  # images below which the central limit theorem is a poor guide
SURE = 5.0  # standard errors of a gap from which on dividing by it hardly biases iOcclusion (benchmarks/README.md)


class OccludedAccuracy(NamedTuple):
    """How right a classifier, or the runs of one model on average, is on the images of one set."""

    occluded: Array  # (K, n) share of an image's masks at which it is classified correctly, per hidden share
    clean: Array  # (n,) 0 or 1
    hidden: Array  # (K,) share of the pixels that masks really hide

    @classmethod
    def mean(cls, runs: Sequence[OccludedAccuracy]) -> OccludedAccuracy:
        return cls(*(np.mean(each, 0) for each in zip(*runs, strict=True)))


class TestAndTraining(NamedTuple):
    """A model on test images and, where they are known, on training images."""

    test: OccludedAccuracy
    train: OccludedAccuracy | None

    @classmethod
    def mean(cls, runs: Sequence[TestAndTraining]) -> TestAndTraining:
        trained = [each.train for each in runs if each.train is not None]
        return cls(
            OccludedAccuracy.mean([each.test for each in runs]), OccludedAccuracy.mean(trained) if trained else None
        )

    def gap(self, confidence: float, place: int | None = None) -> Estimate:
        """A(train) − A(test), occluded at one of the shares or clean."""
        if self.train is None:
            return Estimate()
        train, test = (each.clean if place is None else each.occluded[place] for each in (self.train, self.test))
        return difference_of_shares(train, test, confidence)

    def samples(self, place: int) -> list[SignedSample]:
        """What iOcclusion at one share is a ratio of."""
        assert self.train is not None
        return [
            SignedSample(self.train.occluded[place], self.train.clean, 1),
            SignedSample(self.test.occluded[place], self.test.clean, -1),
        ]

    def interplay(self, confidence: float, place: int) -> Estimate:
        """iOcclusion at one share; nothing where there is no gap to divide by, or no training images."""
        return ratio(self.samples(place), confidence) if self.gap(confidence).low > 0 else Estimate()


def summarise_run(measure: Occlusion, run: RunView) -> dict[str, Any]:
    """A result per classifier, image set and nuisance; one per group of classifiers; differences between models."""
    results, groups, comparisons, warnings = [], [], [], dict[str, None]()
    models = members(run.classifiers)
    family = math.comb(len(models), 2) * _claims(measure, run)
    for images, nuisance in itertools.product(evaluated_image_sets(run.images), run.nuisances):
        shares = measure.shares_of(run.nuisances[nuisance])
        train = _training(run, images)
        found = {name: _test_and_training(run, name, images, train, nuisance, len(shares)) for name in run.classifiers}
        names = {"image_set": images, "train_set": train or None, "nuisance": nuisance}
        about = names | _protocol(measure, run, images, train, nuisance)
        for name, both in found.items():
            results.append(
                {"classifier": name, "group": run.classifiers[name].group or None} | about | _one(both, shares, measure)
            )
            warnings |= dict.fromkeys(_ratio_warnings(both, name, images, train, measure.confidence))
        averaged = {}
        for model, names_of in models.items():
            runs = [found[name] for name in names_of]
            averaged[model] = TestAndTraining.mean(runs)
            if run.classifiers[names_of[0]].group:
                groups.append(
                    {"group": model, "runs": len(runs), "classifiers": names_of}
                    | about
                    | _group(runs, averaged[model], shares, measure)
                )
        for pair, one, other in two_by_two(averaged):
            points = _differences(one, other, shares, simultaneous(measure.confidence, family))
            comparisons.append(pair | names | {"confidence": measure.confidence, "family": family, "points": points})
    return {"results": results, "groups": groups, "comparisons": comparisons, "warnings": list(warnings)}


def _training(run: RunView, images: str) -> str:
    """The image set that an image set names as its training images, if it is there."""
    train = run.images[images].train
    return train if train in run.images else ""


def _claims(measure: Occlusion, run: RunView) -> int:
    """Differences that are reported for a pair of models: of accuracy, and of iOcclusion where there are training
    images, at every share."""
    shares = sum(len(measure.shares_of(nuisance)) for nuisance in run.nuisances.values())
    return shares * sum(2 if _training(run, images) else 1 for images in evaluated_image_sets(run.images))


def sums_by_share(subject: ImageSetFacts, shares: int) -> ImageSums:
    """Right answers and hidden shares, summed over an image's masks."""

    def of(rows: pa.Table) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        return rows["place"].to_numpy(), {"right": rows["rank"].to_numpy() == 0, "hidden": rows["hidden"].to_numpy()}

    return ImageSums(subject, shares, of)


def _test_and_training(
    run: RunView, classifier: str, images: str, train: str, nuisance: str, shares: int
) -> TestAndTraining:
    def right(name: str) -> OccludedAccuracy:
        found: ImageSums = run.fold(run.cell(classifier, name, nuisance)).compute()
        right, hidden = (np.stack([found.mean(what, place) for place in range(shares)]) for what in ("right", "hidden"))
        return OccludedAccuracy(right, clean_right(run, classifier, name).astype(np.float64), hidden.mean(1))

    return TestAndTraining(right(images), right(train) if train else None)


def _protocol(measure: Occlusion, run: RunView, images: str, train: str, nuisance: str) -> dict[str, Any]:
    """How the numbers came about, which belongs to each of them."""
    space = run.nuisances[nuisance]
    assert isinstance(space, HidesPixels)
    return {
        "images": len(run.images[images]),
        "train_images": len(run.images[train]) if train else None,
        "as_drawn": measure.shares_of(space) == (None,),
        "share_of": space.share_of if isinstance(space, HidesShare) else "pixels",
        "filled_with": space.filled_with,
        "mask": nuisances.spec_of(space.unfilled()),
        "prior": run.prior(images, nuisance),
        "repeats": measure.repeats,
        "confidence": measure.confidence,
        "seed": run.seed,
    }


def _one(both: TestAndTraining, shares: Sequence[float | None], measure: Occlusion) -> dict[str, Any]:
    """The four accuracies, the gaps, A / A₀ and iOcclusion at every share."""
    confidence, nothing = measure.confidence, [Estimate()] * len(shares)
    tests = means(both.test.occluded, confidence)
    trains = nothing if both.train is None else means(both.train.occluded, confidence)
    relative = _relative(both.test, confidence)
    points = [
        {
            "share": share,
            "hidden": float(both.test.hidden[place]),
            **tests[place].named("accuracy"),
            **relative[place].named("relative"),
            **trains[place].named("train_accuracy"),
            **both.gap(confidence, place).named("gap"),
            **both.interplay(confidence, place).named("iocclusion"),
        }
        for place, share in enumerate(shares)
    ]
    return {
        **mean(both.test.clean, confidence).named("accuracy_clean"),
        **(Estimate() if both.train is None else mean(both.train.clean, confidence)).named("train_accuracy_clean"),
        **both.gap(confidence).named("gap"),
        "divisible": both.interplay(confidence, 0).interval is not None,
        "points": points,
    }


def _group(
    runs: Sequence[TestAndTraining], averaged: TestAndTraining, shares: Sequence[float | None], measure: Occlusion
) -> dict[str, Any]:
    """Over the runs of one model: the ratio of the mean gaps, and the mean of the runs' own ratios, which differ."""
    confidence = measure.confidence
    said = _one(averaged, shares, measure)
    for place, point in enumerate(said["points"]):
        accuracies = [float(each.test.occluded[place].mean()) for each in runs]
        ratios = [found.value for each in runs if (found := each.interplay(confidence, place)).interval is not None]
        whole = len(ratios) == len(runs)
        point |= {f"ratio_of_means{end}": point.pop(f"iocclusion{end}") for end in ("", "_interval")}
        point["accuracy_spread"] = _spread(accuracies)
        point["mean_of_ratios"] = float(np.mean(ratios)) if whole else None
        point["spread_of_ratios"] = _spread(ratios) if whole else None
        point["runs_divisible"] = len(ratios)
    return said


def _differences(
    first: TestAndTraining, second: TestAndTraining, shares: Sequence[float | None], confidence: float
) -> list[dict[str, Any]]:
    """First minus second at every share, paired over the same images under the same masks."""
    apart = means(first.test.occluded - second.test.occluded, confidence, support=(-1.0, 1.0))
    found = []
    for place, share in enumerate(shares):
        accuracy, interplay = apart[place], _interplay_apart(first, second, place, confidence)
        found.append(
            {"share": share, "more_accurate": accuracy.favours()}
            | accuracy.named("accuracy")
            | interplay.named("iocclusion")
            | {"more_robust": None if interplay.interval is None else interplay.favours()}
        )
    return found


def _interplay_apart(first: TestAndTraining, second: TestAndTraining, place: int, confidence: float) -> Estimate:
    """The difference of two iOcclusions, where both models have one."""
    if any(each.interplay(confidence, place).interval is None for each in (first, second)):
        return Estimate()
    return difference_of_ratios(first.samples(place), second.samples(place), confidence)


def _relative(test: OccludedAccuracy, confidence: float) -> list[Estimate]:
    """A / A₀ at every share; nothing where A₀ may be 0."""
    if not test.clean.any():
        return [Estimate()] * len(test.occluded)
    bounds = quotient_bounds(test.occluded, test.clean, confidence)
    values = test.occluded.mean(1) / test.clean.mean()
    return [
        Estimate(float(value), float(low), float(high)) if np.isfinite(high) else Estimate()
        for value, low, high in zip(values, bounds.low, bounds.high, strict=True)
    ]


def _spread(values: Sequence[float]) -> float | None:
    """The standard deviation over runs; None where there is only one."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def _ratio_warnings(both: TestAndTraining, classifier: str, images: str, train: str, confidence: float) -> list[str]:
    """What a reader of the ratios must know, a sentence each."""
    gap = both.gap(confidence)
    if both.train is None:
        return []
    said, errors = [], standard_errors(both.samples(0))
    if both.interplay(confidence, 0).interval is None:
        why = "is too small to divide by" if gap.high >= 0 else "is below 0"
        points = f"{100 * gap.value:.1f} points [{100 * gap.low:.1f}, {100 * gap.high:.1f}]".replace("-", "−")
        said.append(
            f"{classifier!r} has no iOcclusion: the gap in accuracy between {train!r} and {images!r}, {points}, {why}"
        )
    elif errors < SURE:
        said.append(
            f"iOcclusion of {classifier!r} is biased low: the gap in accuracy between {train!r} and {images!r} is only "
            f"{errors:.1f} standard errors above 0, so that chance has probably enlarged it; measure more images"
        )
    fewest = min(len(both.train.clean), len(both.test.clean))
    if fewest < FEW:
        said.append(f"with {fewest} image{'' if fewest == 1 else 's'}, the intervals of iOcclusion are rough")
    return said
