"""What a run says in the end: one result per classifier and nuisance, and paired comparisons of classifiers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.errors import BrittleError
from brittle.measures.base import ImageSetFacts, RunView, pairs_of, two_by_two
from brittle.measures.clean.measure import clean_columns
from brittle.measures.robustness.clean_warnings import CleanWarnings, above_chance, clean_warnings
from brittle.measures.robustness.estimate import (
    ESTIMANDS,
    METHODS,
    ImagesPart,
    PlanReach,
    bounded,
    estimate,
    estimates,
    means,
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


def summarise(
    options: RobustnessOptions, finding: ClassifierTally, subject: ImageSetFacts, family: int
) -> dict[str, Any]:
    """Everything `measure --json` prints of one classifier and nuisance, without names; one of `family` results."""
    tally, reach = finding.tally, finding.reach
    labels = subject.labels[: reach.images]
    labelled = bool((labels >= 0).all())
    of = partial(estimate, options, tally, reach, subject.population)
    rho, together = of(), of(confidence=simultaneous(options.confidence, family))
    fixed = options.estimand == "population" and options.tolerance is None  # where Hoeffding's inequality applies
    result: dict[str, Any] = rho.named("rho", "interval") | {
        "interval_simultaneous": together.interval,
        "half_width": rho.half_width,
        "confidence": options.confidence,
        "interval_method": METHODS[options.estimand],
        "estimand": options.estimand,
        "estimand_is": ESTIMANDS[options.estimand],
        "reference": "label" if labelled else "mixed" if (labels >= 0).any() else "clean prediction",
        **of("flips").named("flip_rate"),
        "hoeffding_half_width": hoeffding_half_width(reach.images, options.confidence) if fixed else None,
        "tolerance": options.tolerance,
        "tolerance_reached": reach.enough if options.tolerance is not None else None,
        "images": reach.images,
        "samples": reach.draws,
        "design": options.design,
        "calls": reach.images * (reach.draws + 1),
    }
    result |= dict.fromkeys(("accuracy_clean", "accuracy_nuisance", "drop", "worst_of", "accuracy_worst"))
    if labelled:
        result |= _accuracies(options, finding, subject)
        result["classes"] = _per_class(options, finding, subject)
    return result | _extras(options, tally, reach)


def _accuracies(options: RobustnessOptions, finding: ClassifierTally, subject: ImageSetFacts) -> dict[str, Any]:
    tally, reach = finding.tally, finding.reach
    of = partial(estimate, options, tally, reach, subject.population)
    clean = clean_accuracy(options, finding.clean["rank"][: reach.images] == 0, tally.images, subject.population)
    # k is fixed beforehand: a stop before k draws leaves worst-of-k unsaid rather than make it worst of fewer.
    worst_of = min(options.worst_of, options.draws)
    several = worst_of > 1 and options.design == "independent"  # the worst of one draw is that draw
    worst = of("worst") if several and reach.draws >= worst_of else Estimate()
    return {
        **clean.named("accuracy_clean"),
        **of("correct").named("accuracy_nuisance"),
        **_drop(options, finding, subject).named("drop"),
        "worst_of": worst_of if several else None,
        **worst.named("accuracy_worst"),
    }


def _drop(options: RobustnessOptions, finding: ClassifierTally, subject: ImageSetFacts) -> Estimate:
    """Clean accuracy minus accuracy under the nuisance, paired image by image."""
    tally, reach = finding.tally, finding.reach
    clean = (finding.clean["rank"][: reach.images] == 0).astype(np.float64)
    values, rounds = means(options, tally, reach, "correct")
    by_round = None if rounds is None else clean - rounds
    return bounded(options, clean - values, by_round, subject.population, tally.images, paired=True)


def _per_class(options: RobustnessOptions, finding: ClassifierTally, subject: ImageSetFacts) -> list[dict[str, Any]]:
    tally, reach = finding.tally, finding.reach
    seen = subject.labels[: reach.images]
    present, counts = np.unique(seen, return_counts=True)
    places = np.split(np.argsort(seen, kind="stable"), np.cumsum(counts)[:-1])
    planned, population = _counts(subject.labels), _counts(subject.population_labels)
    labels = present.tolist()
    parts = [ImagesPart(here, planned[label], population[label]) for here, label in zip(places, labels, strict=True)]
    rho = estimates(options, tally, reach, parts)
    family = estimates(options, tally, reach, parts, confidence=simultaneous(options.confidence, len(planned)))
    correct = estimates(options, tally, reach, parts, "correct")
    right = finding.clean["rank"][: reach.images] == 0
    return [
        {
            "label": label,
            "class": subject.class_name(label),
            "images": len(places[number]),
            **rho[number].named("rho", "interval"),
            "interval_simultaneous": family[number].interval,
            **correct[number].named("accuracy_nuisance"),
            "accuracy_clean": float(right[places[number]].mean()),
        }
        for number, label in enumerate(labels)
    ]


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


def compare(
    options: RobustnessOptions,
    first: ClassifierTally,
    second: ClassifierTally,
    subject: ImageSetFacts,
    confidence: float | None = None,
) -> dict[str, Any]:
    """First minus second on the same images and the same θ, over what both have seen."""
    shorter = min(first.reach, second.reach, key=lambda reach: reach.units)
    difference: dict[str, Any] = {"images": shorter.images, "samples": shorter.draws}
    of = partial(estimate, options, first.tally, shorter, subject.population, minus=second.tally, confidence=confidence)
    for name, what in (("rho", "confidence"), ("accuracy_nuisance", "correct")):
        found = of(what)
        difference |= found.named(f"{name}_difference", f"{name}_interval") | {f"{name}_better": found.favours()}
    return difference


def compare_all(
    options: RobustnessOptions, findings: Mapping[str, ClassifierTally], subject: ImageSetFacts, family: int
) -> list[dict[str, Any]]:
    """Every pair of classifiers, with intervals that hold for all `family` comparisons of the run at once."""
    together = simultaneous(options.confidence, family)
    return [
        names | {"confidence": options.confidence, "family": family} | compare(options, one, other, subject, together)
        for names, one, other in two_by_two(findings)
    ]


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
            {"classifier": name, **names, "prior": run.prior(images, nuisance), "seed": run.seed}
            | summarise(options, finding, subject, families[0])
            for name, finding in found.items()
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
