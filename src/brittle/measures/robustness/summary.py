"""What a run says in the end: one result per classifier and nuisance, and paired comparisons of classifiers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.errors import BrittleError
from brittle.measures.base import RunView, Subject, pairs_of
from brittle.measures.clean.measure import clean_columns
from brittle.measures.robustness.estimate import ESTIMANDS, METHODS, Estimate, Part, Reach, estimate, estimates, means
from brittle.measures.robustness.fold import RobustnessFold
from brittle.measures.robustness.means import means_over
from brittle.measures.robustness.tally import Tally
from brittle.measures.robustness.untouched import CleanDoubt, above_chance, clean_doubt
from brittle.statistics.intervals import betting_bounds, hoeffding_half_width, simultaneous

if TYPE_CHECKING:
    from brittle.measures.robustness.measure import Robustness


class Finding(NamedTuple):
    """One classifier under one nuisance, as far as the plan was carried out."""

    tally: Tally
    reach: Reach
    clean: Mapping[str, NDArray[Any]]  # columns of the clean rows, in planned order


def clean_accuracy(measure: Robustness, correct: NDArray[np.bool_], planned: int, population: int) -> Estimate:
    """Accuracy on the untouched images: exact for estimand `set`, since nothing in it is random."""
    values = correct.astype(np.float64)
    mean = float(values.mean())
    if measure.estimand == "set":
        return Estimate(mean, mean, mean)
    bounds = betting_bounds(
        values,
        measure.confidence,
        planned=planned,
        target=measure.tolerance,
        population=population if measure.estimand == "drawn" else None,
    )
    return Estimate.within(mean, bounds)


def summarise(measure: Robustness, finding: Finding, subject: Subject, family: int) -> dict[str, Any]:
    """Everything `measure --json` prints of one classifier and nuisance, without names; one of `family` results."""
    tally, reach = finding.tally, finding.reach
    labels = subject.labels[: reach.images]
    labelled = bool((labels >= 0).all())
    rho = estimate(measure, tally, reach, subject.population)
    together = estimate(measure, tally, reach, subject.population, confidence=simultaneous(measure.confidence, family))
    flips = estimate(measure, tally, reach, subject.population, "flips")
    fixed = measure.estimand == "population" and measure.tolerance is None  # where Hoeffding's inequality applies
    result: dict[str, Any] = {
        "rho": rho.value,
        "interval": rho.interval,
        "interval_simultaneous": together.interval,
        "half_width": rho.half_width,
        "confidence": measure.confidence,
        "interval_method": METHODS[measure.estimand],
        "estimand": measure.estimand,
        "estimand_is": ESTIMANDS[measure.estimand],
        "reference": "label" if labelled else "mixed" if (labels >= 0).any() else "clean prediction",
        "flip_rate": flips.value,
        "flip_rate_interval": flips.interval,
        "hoeffding_half_width": hoeffding_half_width(reach.images, measure.confidence) if fixed else None,
        "tolerance": measure.tolerance,
        "tolerance_reached": reach.enough if measure.tolerance is not None else None,
        "images": reach.images,
        "samples": reach.draws,
        "calls": reach.images * (reach.draws + 1),
    }
    result |= dict.fromkeys(("accuracy_clean", "accuracy_nuisance", "drop", "worst_of", "accuracy_worst"))
    if labelled:
        result |= _accuracies(measure, finding, subject)
        result["classes"] = _per_class(measure, finding, subject)
    result |= _extras(measure, tally, reach, subject)
    return result


def _accuracies(measure: Robustness, finding: Finding, subject: Subject) -> dict[str, Any]:
    tally, reach = finding.tally, finding.reach
    clean = clean_accuracy(measure, finding.clean["rank"][: reach.images] == 0, tally.images, subject.population)
    under, drop = estimate(measure, tally, reach, subject.population, "correct"), _drop(measure, finding, subject)
    # k is fixed beforehand: a stop before k draws leaves worst-of-k unsaid rather than make it worst of fewer.
    worst_of = min(measure.worst_of, measure.draws)
    several = worst_of > 1  # the worst of one draw is that draw
    enough = several and reach.draws >= worst_of
    worst = estimate(measure, tally, reach, subject.population, "worst") if enough else Estimate(float("nan"))
    return {
        "accuracy_clean": clean.value,
        "accuracy_clean_interval": clean.interval,
        "accuracy_nuisance": under.value,
        "accuracy_nuisance_interval": under.interval,
        "drop": drop.value,
        "drop_interval": drop.interval,
        "worst_of": worst_of if several else None,
        "accuracy_worst": worst.value if enough else None,
        "accuracy_worst_interval": worst.interval,
    }


def _drop(measure: Robustness, finding: Finding, subject: Subject) -> Estimate:
    """Clean accuracy minus accuracy under the nuisance, paired image by image."""
    tally, reach = finding.tally, finding.reach
    clean = (finding.clean["rank"][: reach.images] == 0).astype(np.float64)
    values, rounds = means(measure, tally, reach, "correct")
    bounds = measure.bounds(
        clean - values,
        None if rounds is None else clean - rounds,
        planned=tally.images,
        population=subject.population,
        confidence=measure.confidence,
        draws=measure.draws,
        share=1.0,
        paired=True,
    )
    return Estimate.within(float((clean - values).mean()), bounds)


def _per_class(measure: Robustness, finding: Finding, subject: Subject) -> list[dict[str, Any]]:
    tally, reach = finding.tally, finding.reach
    seen = subject.labels[: reach.images]
    present, counts = np.unique(seen, return_counts=True)
    places = np.split(np.argsort(seen, kind="stable"), np.cumsum(counts)[:-1])
    planned, population = _counts(subject.labels), _counts(subject.population_labels)
    parts = [
        Part(here, planned[label], population[label]) for here, label in zip(places, present.tolist(), strict=True)
    ]
    rho = estimates(measure, tally, reach, parts)
    family = estimates(measure, tally, reach, parts, confidence=simultaneous(measure.confidence, len(planned)))
    correct = estimates(measure, tally, reach, parts, "correct")
    right = finding.clean["rank"][: reach.images] == 0
    return [
        {
            "label": label,
            "class": subject.class_name(label),
            "images": len(places[number]),
            "rho": rho[number].value,
            "interval": rho[number].interval,
            "interval_simultaneous": family[number].interval,
            "accuracy_nuisance": correct[number].value,
            "accuracy_nuisance_interval": correct[number].interval,
            "accuracy_clean": float(right[places[number]].mean()),
        }
        for number, label in enumerate(present.tolist())
    ]


def _counts(labels: NDArray[np.int64]) -> dict[int, int]:
    """How many images each label has."""
    present, counts = np.unique(labels, return_counts=True)
    return dict(zip(present.tolist(), counts.tolist(), strict=True))


def _extras(measure: Robustness, tally: Tally, reach: Reach, subject: Subject) -> dict[str, Any]:
    here = slice(0, reach.images)
    extras: dict[str, Any] = {}
    if "nll" in measure.extra:
        nll = float(tally.nll[here].sum() / tally.draws[here].sum())
        extras["nll"] = nll if math.isfinite(nll) else None
    if "ece" in measure.extra:
        extras["ece"] = tally.calibration_error()
    if "top5" in measure.extra:
        extras["top5"] = float(tally.top5[here].sum() / tally.draws[here].sum())
    return extras


def compare(
    measure: Robustness, first: Finding, second: Finding, subject: Subject, confidence: float | None = None
) -> dict[str, Any]:
    """First minus second on the same images and the same θ, over what both have seen."""
    shorter = min(first.reach, second.reach, key=lambda reach: reach.units)
    difference: dict[str, Any] = {"images": shorter.images, "samples": shorter.draws}
    for name, what in (("rho", "confidence"), ("accuracy_nuisance", "correct")):
        found = estimate(
            measure, first.tally, shorter, subject.population, what, minus=second.tally, confidence=confidence
        )
        difference |= {f"{name}_difference": found.value, f"{name}_interval": found.interval}
        difference[f"{name}_better"] = _better(found)
    return difference


def _better(difference: Estimate) -> str:
    """A tie unless the interval of the difference lies on one side of zero."""
    if difference.low is not None and difference.low > 0:
        return "first"
    return "second" if difference.high is not None and difference.high < 0 else "tie"


def compare_all(
    measure: Robustness, findings: Mapping[str, Finding], subject: Subject, family: int
) -> list[dict[str, Any]]:
    """Every pair of classifiers, with intervals that hold for all `family` comparisons of the run at once."""
    together = simultaneous(measure.confidence, family)
    return [
        {"first": a, "second": b, "confidence": measure.confidence, "family": family}
        | compare(measure, findings[a], findings[b], subject, together)
        for a, b in itertools.combinations(findings, 2)
    ]


def findings(run: RunView, images: str, nuisance: str) -> dict[str, Finding]:
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
        found[name] = Finding(fold.tally, fold.reach, clean_columns(run, name, images, fold.reach.images))
    return found


def summarise_run(measure: Robustness, run: RunView) -> dict[str, Any]:
    """A result per (image set, nuisance, classifier), paired comparisons, means over nuisances, and warnings.

    Each interval of ρ is given twice: on its own, and simultaneous over all of them. Comparisons are simultaneous."""
    results, comparisons, warnings = [], [], []
    seen: dict[str, dict[str, dict[str, tuple[Tally, Reach]]]] = {}  # image set → classifier → nuisance
    doubts: dict[tuple[str, str, int], CleanDoubt] = {}  # of the untouched images, the same under every nuisance
    together, count = pairs_of(run), len(run.classifiers)
    families = (len(together) * count, len(together) * max(1, count * (count - 1) // 2))
    for images, nuisance in together:
        found, subject = findings(run, images, nuisance), run.images[images]
        names = {"image_set": images, "nuisance": nuisance}
        rows: list[dict[str, Any]] = [
            {"classifier": name, **names, "prior": run.prior(images, nuisance), "seed": run.seed}
            | summarise(measure, finding, subject, families[0])
            for name, finding in found.items()
        ]
        results += rows
        for name, finding in found.items():
            seen.setdefault(images, {}).setdefault(name, {})[nuisance] = (finding.tally, finding.reach)
        pairs = [names | pair for pair in compare_all(measure, found, subject, families[1])]
        comparisons += pairs
        if all(row["accuracy_nuisance"] is not None for row in rows):
            here = {name: (images, name, finding.reach.images) for name, finding in found.items()}
            for name, key in here.items():
                if key not in doubts:
                    doubts[key] = clean_doubt(run, name, images, found[name].clean, key[-1])
            sure = [row for row in rows if not doubts[here[row["classifier"]]].guesses]
            warnings += _near_chance(run, nuisance, sure)
            warnings += [said for pair in pairs if (said := ranked_apart(pair)) is not None]
            warnings += [doubts[key].said for key in here.values() if doubts[key].said]
    warnings = list(dict.fromkeys(warnings))
    over = [row for images in seen for row in _means(measure, run, images, seen[images])]
    summary = {"results": results, "comparisons": comparisons, "warnings": warnings, "calls": _calls(results)}
    return summary | ({"means": over} if over else {})


def _means(
    measure: Robustness, run: RunView, images: str, found: Mapping[str, Mapping[str, tuple[Tally, Reach]]]
) -> list[dict[str, Any]]:
    """Means over the nuisances on one image set, where there are several."""
    subject = run.images[images]
    several = {name: each for name, each in found.items() if len(each) > 1}
    labelled = bool((subject.labels >= 0).all())
    return [{"image_set": images} | row for row in means_over(measure, several, subject.population, labelled)]


def _calls(results: list[dict[str, Any]]) -> dict[str, int]:
    """Images classified per classifier, those of the clean predictions left aside."""
    calls: dict[str, int] = {}
    for row in results:
        calls[row["classifier"]] = calls.get(row["classifier"], 0) + row["images"] * row["samples"]
    return calls


def ranked_apart(pair: Mapping[str, Any]) -> str | None:
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
