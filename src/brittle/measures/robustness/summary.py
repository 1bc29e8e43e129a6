"""What a run says in the end: one result per classifier and nuisance, and paired comparisons of classifiers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.errors import BrittleError
from brittle.measures.arrays import Array
from brittle.measures.base import ImageSetFacts, RunView, pairs_of, two_by_two
from brittle.measures.clean.measure import clean_columns
from brittle.measures.robustness.clean_warnings import CleanWarnings, above_chance, clean_warnings
from brittle.measures.robustness.estimate import (
    ESTIMANDS,
    METHODS,
    ImagesPart,
    PlanReach,
    Sample,
    estimates,
    part_samples,
    sample,
)
from brittle.measures.robustness.fold import RobustnessFold
from brittle.measures.robustness.means import means_over
from brittle.measures.robustness.options import RobustnessOptions
from brittle.measures.robustness.tally import Tally
from brittle.statistics.estimate import Estimate
from brittle.statistics.intervals import betting_bounds, hoeffding_half_width, simultaneous


class ClassifierTally(NamedTuple):
    """One classifier under one nuisance, as far as the plan was carried out."""

    tally: Tally
    reach: PlanReach
    clean: Mapping[str, NDArray[Any]]  # columns of the clean rows, in planned order


def clean_accuracy(options: RobustnessOptions, correct: NDArray[np.bool_], planned: int, population: int) -> Estimate:
    """Accuracy on the untouched images: exact for estimand `set`, since nothing in it is random."""
    values = correct.astype(np.float64)
    mean = float(values.mean())
    if options.estimand == "set":
        return Estimate(mean, mean, mean)
    whole = population if options.estimand == "drawn" else None
    bounds = betting_bounds(values, options.confidence, planned=planned, target=options.tolerance, population=whole)
    return Estimate.within(mean, bounds)


def results_of(
    options: RobustnessOptions, findings: Sequence[ClassifierTally], subject: ImageSetFacts, family: int
) -> list[dict[str, Any]]:
    """Everything `measure --json` prints of each classifier under one nuisance, without names; of `family` results."""

    def of(what: str, confidence: float | None = None) -> list[Estimate]:
        return estimates(
            options, (sample(options, *each[:2], subject.population, what) for each in findings), confidence
        )

    rho, flips = of("confidence"), of("flips")
    together = of("confidence", simultaneous(options.confidence, family))
    labelled = [bool((subject.labels[: each.reach.images] >= 0).all()) for each in findings]
    known = [each for each, there in zip(findings, labelled, strict=True) if there]
    of_labels = iter(
        [
            accuracies | {"classes": classes}
            for accuracies, classes in zip(
                _accuracies(options, known, subject), _per_class(options, known, subject), strict=True
            )
        ]
    )
    unknown = dict.fromkeys(("accuracy_clean", "accuracy_nuisance", "drop", "worst_of", "accuracy_worst"))
    return [
        rho[place].named("rho", "interval")
        | {"interval_simultaneous": together[place].interval, "half_width": rho[place].half_width}
        | _circumstances(options, finding.reach, subject)
        | flips[place].named("flip_rate")
        | unknown
        | (next(of_labels) if labelled[place] else {})
        | _extras(options, finding.tally, finding.reach)
        for place, finding in enumerate(findings)
    ]


def _circumstances(options: RobustnessOptions, reach: PlanReach, subject: ImageSetFacts) -> dict[str, Any]:
    """How the numbers came about."""
    fixed = options.estimand == "population" and options.tolerance is None  # where Hoeffding's inequality applies
    labels = subject.labels[: reach.images] >= 0
    return {
        "confidence": options.confidence,
        "interval_method": METHODS[options.estimand],
        "estimand": options.estimand,
        "estimand_is": ESTIMANDS[options.estimand],
        "reference": "label" if labels.all() else "mixed" if labels.any() else "clean prediction",
        "hoeffding_half_width": hoeffding_half_width(reach.images, options.confidence) if fixed else None,
        "tolerance": options.tolerance,
        "tolerance_reached": reach.enough if options.tolerance is not None else None,
        "images": reach.images,
        "samples": reach.draws,
        "design": options.design,
        "calls": reach.images * (reach.draws + 1),
    }


def _accuracies(
    options: RobustnessOptions, findings: Sequence[ClassifierTally], subject: ImageSetFacts
) -> list[dict[str, Any]]:
    # k is fixed beforehand: a stop before k draws leaves worst-of-k unsaid rather than make it worst of fewer.
    worst_of = min(options.worst_of, options.draws)
    several = worst_of > 1 and options.design == "independent"  # the worst of one draw is that draw
    has_worst = [several and each.reach.draws >= worst_of for each in findings]

    def of(what: str, chosen: Sequence[bool]) -> Iterator[Sample]:
        some = (each for each, there in zip(findings, chosen, strict=True) if there)
        return (sample(options, *each[:2], subject.population, what) for each in some)

    every = [True] * len(findings)
    right = [(each.clean["rank"][: each.reach.images] == 0).astype(np.float64) for each in findings]
    drops = (_drop(clean, under) for clean, under in zip(right, of("correct", every), strict=True))
    worst = iter(estimates(options, of("worst", has_worst)))
    found = zip(findings, right, estimates(options, of("correct", every)), estimates(options, drops), strict=True)
    return [
        {
            **clean_accuracy(options, clean == 1, each.tally.images, subject.population).named("accuracy_clean"),
            **correct.named("accuracy_nuisance"),
            **lost.named("drop"),
            "worst_of": worst_of if several else None,
            **(next(worst) if has_worst[place] else Estimate()).named("accuracy_worst"),
        }
        for place, (each, clean, correct, lost) in enumerate(found)
    ]


def _drop(clean: Array, under: Sample) -> Sample:
    """Whether the untouched images (M,) are right minus the same under the nuisance."""
    rounds = None if under.rounds is None else clean - under.rounds
    return under._replace(values=clean - under.values, rounds=rounds, paired=True)


def _per_class(
    options: RobustnessOptions, findings: Sequence[ClassifierTally], subject: ImageSetFacts
) -> list[list[dict[str, Any]]]:
    planned, population = _counts(subject.labels), _counts(subject.population_labels)
    parts = [_parts(subject.labels[: each.reach.images], planned, population) for each in findings]

    def of(what: str, confidence: float | None = None) -> Iterator[Estimate]:
        every = zip(findings, parts, strict=True)
        samples = (each for one, some in every for each in part_samples(options, *one[:2], some.values(), what))
        return iter(estimates(options, samples, confidence))

    rho, correct = of("confidence"), of("correct")
    family = of("confidence", simultaneous(options.confidence, max(1, len(planned))))
    return [
        [
            {
                "label": label,
                "class": subject.class_name(label),
                "images": len(part.images),
                **next(rho).named("rho", "interval"),
                "interval_simultaneous": next(family).interval,
                **next(correct).named("accuracy_nuisance"),
                "accuracy_clean": float((each.clean["rank"][part.images] == 0).mean()),
            }
            for label, part in some.items()
        ]
        for each, some in zip(findings, parts, strict=True)
    ]


def _parts(labels: NDArray[np.int64], planned: dict[int, int], population: dict[int, int]) -> dict[int, ImagesPart]:
    """The images of each label."""
    present, counts = np.unique(labels, return_counts=True)
    places = np.split(np.argsort(labels, kind="stable"), np.cumsum(counts)[:-1])
    return {
        label: ImagesPart(here, planned[label], population[label])
        for here, label in zip(places, present.tolist(), strict=True)
    }


def _counts(labels: NDArray[np.int64]) -> dict[int, int]:
    """How many images each label has."""
    present, counts = np.unique(labels, return_counts=True)
    return dict(zip(present.tolist(), counts.tolist(), strict=True))


def _extras(options: RobustnessOptions, tally: Tally, reach: PlanReach) -> dict[str, Any]:
    here = slice(0, reach.images)
    extras: dict[str, Any] = {}
    if "nll" in options.extra:
        nll = float(tally.nll[here].sum() / tally.draws[here].sum())
        extras["nll"] = nll if math.isfinite(nll) else None
    if "ece" in options.extra:
        extras["ece"] = tally.calibration_error()
    if "top5" in options.extra:
        extras["top5"] = float(tally.top5[here].sum() / tally.draws[here].sum())
    return extras


def compare_all(
    options: RobustnessOptions, findings: Mapping[str, ClassifierTally], subject: ImageSetFacts, family: int
) -> list[dict[str, Any]]:
    """Every pair of classifiers: first minus second on the same images and the same θ, over what both have seen, with
    intervals that hold for all `family` comparisons of the run at once."""
    together, pairs = simultaneous(options.confidence, family), list(two_by_two(findings))
    reach = [min(one.reach, other.reach, key=lambda reach: reach.units) for _, one, other in pairs]

    def of(what: str) -> list[Estimate]:
        found = (
            sample(options, one.tally, seen, subject.population, what, minus=other.tally)
            for (_, one, other), seen in zip(pairs, reach, strict=True)
        )
        return estimates(options, found, together)

    rho, accuracy = of("confidence"), of("correct")
    return [
        names
        | {"confidence": options.confidence, "family": family, "images": seen.images, "samples": seen.draws}
        | _difference("rho", rho[place])
        | _difference("accuracy_nuisance", accuracy[place])
        for place, ((names, _, _), seen) in enumerate(zip(pairs, reach, strict=True))
    ]


def _difference(name: str, found: Estimate) -> dict[str, Any]:
    return found.named(f"{name}_difference", f"{name}_interval") | {f"{name}_better": found.favours()}


def findings(run: RunView, images: str, nuisance: str) -> dict[str, ClassifierTally]:
    """Per classifier: the tally of its finished prefix, and its clean rows."""
    found = {}
    for name in run.classifiers:
        fold = run.fold(run.cell(name, images, nuisance))
        assert isinstance(fold, RobustnessFold)
        if fold.reach.images == 0:
            raise BrittleError(
                f"the run holds nothing of {name!r} under {nuisance!r} yet",
                "Give the command that began it again: it resumes.",
            )
        tally, reach = fold.compute()
        found[name] = ClassifierTally(tally, reach, clean_columns(run, name, images, reach.images))
    return found


def summarise_run(options: RobustnessOptions, run: RunView) -> dict[str, Any]:
    """A result per (image set, nuisance, classifier), paired comparisons, means over nuisances, and warnings.

    Each interval of ρ is given twice: on its own, and simultaneous over all of them. Comparisons are simultaneous."""
    results, comparisons, warnings = [], [], []
    seen: dict[str, dict[str, dict[str, tuple[Tally, PlanReach]]]] = {}  # image set → classifier → nuisance
    doubts: dict[tuple[str, str, int], CleanWarnings] = {}  # of the untouched images, the same under every nuisance
    together, count = pairs_of(run), len(run.classifiers)
    families = (len(together) * count, len(together) * max(1, math.comb(count, 2)))
    for images, nuisance in together:
        found, subject = findings(run, images, nuisance), run.images[images]
        names = {"image_set": images, "nuisance": nuisance}
        rows: list[dict[str, Any]] = [
            {"classifier": name, **names, "prior": run.prior(images, nuisance), "seed": run.seed} | result
            for name, result in zip(found, results_of(options, list(found.values()), subject, families[0]), strict=True)
        ]
        results += rows
        for name, finding in found.items():
            seen.setdefault(images, {}).setdefault(name, {})[nuisance] = (finding.tally, finding.reach)
        pairs = [names | pair for pair in compare_all(options, found, subject, families[1])]
        comparisons += pairs
        if all(row["accuracy_nuisance"] is not None for row in rows):
            here = {name: (images, name, finding.reach.images) for name, finding in found.items()}
            for name, key in here.items():
                if key not in doubts:
                    doubts[key] = clean_warnings(run, name, images, found[name].clean, key[-1])
            sure = [row for row in rows if not doubts[here[row["classifier"]]].guesses]
            warnings += _near_chance(run, nuisance, sure)
            warnings += [said for pair in pairs if (said := disagreement(pair)) is not None]
            warnings += [doubts[key].said for key in here.values() if doubts[key].said]
    warnings = list(dict.fromkeys(warnings))
    over = [row for images in seen for row in _means(options, run, images, seen[images])]
    summary = {"results": results, "comparisons": comparisons, "warnings": warnings, "calls": _calls(results)}
    return summary | ({"means": over} if over else {})


def _means(
    options: RobustnessOptions, run: RunView, images: str, found: Mapping[str, Mapping[str, tuple[Tally, PlanReach]]]
) -> list[dict[str, Any]]:
    """Means over the nuisances on one image set, where there are several."""
    subject, several = run.images[images], {name: each for name, each in found.items() if len(each) > 1}
    return [{"image_set": images} | row for row in means_over(options, several, subject.population, subject.labelled)]


def _calls(results: list[dict[str, Any]]) -> dict[str, int]:
    """Images classified per classifier, those of the clean predictions left aside."""
    calls: dict[str, int] = {}
    for row in results:
        calls[row["classifier"]] = calls.get(row["classifier"], 0) + row["images"] * row["samples"]
    return calls


def disagreement(pair: Mapping[str, Any]) -> str | None:
    """ρ moves with calibration and accuracy does not: they may favour different classifiers."""
    rho, accuracy = pair["rho_difference"], pair["accuracy_nuisance_difference"]
    if rho * accuracy >= 0 or pair["rho_better"] == pair["accuracy_nuisance_better"] == "tie":
        return None
    tied = "tie" in (pair["rho_better"], pair["accuracy_nuisance_better"])
    first, second = (pair["first"], pair["second"])[:: 1 if rho > 0 else -1]
    return (
        f"under {pair['nuisance']} ρ is higher for {first!r} and accuracy for {second!r} (differences {abs(rho):.3f} "
        f"and {abs(accuracy):.3f}{', one of them a tie' if tied else ''}): one is more confident, the other more often "
        "right"
    )


def _near_chance(run: RunView, nuisance: str, rows: list[dict[str, Any]]) -> list[str]:
    """A prior can destroy the label itself: then even the best classifier guesses. `rows` are of classifiers that don't
    guess without it."""
    if not rows:
        return []
    best = max(rows, key=lambda row: row["accuracy_nuisance"])
    chance = 1 / len(run.classifiers[best["classifier"]].labels)
    if best["accuracy_nuisance"] >= above_chance(chance):
        return []
    return [
        f"under {nuisance} even the best classifier is near chance (accuracy {best['accuracy_nuisance']:.3f}, "
        f"chance {chance:.3f}): this prior may destroy the label itself; look at its draws"
    ]
