"""The findings of robustness in plain sentences, made from its numbers; a tie is called a tie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from brittle.report.blocks import Sentence, Weighted
from brittle.report.blocks.wording import bounded, plain
from brittle.report.page.section import Row, clean_accuracy, compared
from brittle.report.page.words import interval, listed, number, percent, sentence
from brittle.report.sections.robustness.results import RobustnessRows

MOST_PAIRS = 6  # past this many pairs of classifiers the leaders under each nuisance are named instead
FEWEST_OF_A_CLASS = 5  # images from which on something is said of a class
NOTHING_KNOWN = 0.9  # the width of an interval that says nothing
COMPARED, BRITTLE, CLEAN = 0.8, 0.6, 0.55  # how much findings matter


def estimate_text(value: float | None, bounds: Sequence[float] | None) -> str:
    """0.589 [0.568, 0.619]"""
    return plain((bounded(value, bounds),))


def both_intervals(value: float | None, own: Sequence[float] | None, at_once: Sequence[float] | None) -> str:
    """0.589 [0.568, 0.619] (simultaneous [0.560, 0.625]): the table's own interval, and the one that still holds where
    a number is picked out of several."""
    said = estimate_text(value, own)
    return f"{said} (simultaneous {interval(at_once)})" if at_once is not None else said


def tells_nothing(bounds: Sequence[float]) -> bool:
    """Whether an interval of a share leaves nearly everything possible."""
    return bounds[1] - bounds[0] > NOTHING_KNOWN


def _finding(text: str, weight: float, about: tuple[str, ...] = ()) -> Weighted:
    return Weighted(Sentence(text, "finding"), weight, about)


def findings(results: RobustnessRows, many_sets: bool) -> list[Weighted]:
    """How classifiers compare, where each is weakest, and clean accuracy, set by set."""
    found: list[Weighted] = []
    for images in results.image_sets:
        found += _on(images, results.on(images), f"On {images}: " if many_sets else "")
    return found


def _on(images: str, here: RobustnessRows, where: str) -> Iterator[Weighted]:
    """Sentences of one image set begin with `where`. Names of classifiers are written as they are."""
    names = list(dict.fromkeys((pair["first"], pair["second"]) for pair in here.pairs))
    if len(names) <= MOST_PAIRS:
        yield from (_finding(where + _pair(here, *each), COMPARED, compared(images, *each)) for each in names)
    else:
        leaders = (_leader(nuisance, here.under(nuisance)) for nuisance in here.nuisances)
        yield from (_finding(sentence(where + each), COMPARED) for each in leaders)
    yield from (_finding(where + _most_brittle(here.of(name)), BRITTLE) for name in here.shown)
    if all(row.get("accuracy_clean") is not None for row in here.rows):
        clean = {row["classifier"]: row for row in here.rows}
        each = [
            f"{name} {estimate_text(row['accuracy_clean'], row['accuracy_clean_interval'])}"
            for name, row in clean.items()
        ]
        text = sentence(f"{where}clean accuracy, for comparison: {listed(each, 8)}.")
        yield _finding(text, CLEAN, clean_accuracy(images))


def pair_sentences(here: RobustnessRows) -> list[str]:
    """How classifiers compare over all nuisances, where there are few pairs."""
    names = list(dict.fromkeys((pair["first"], pair["second"]) for pair in here.pairs))
    return [_pair(here, *each) for each in names] if len(names) <= MOST_PAIRS else []


def _pair(here: RobustnessRows, first: str, second: str) -> str:
    """How two classifiers compare over all nuisances."""
    pairs = [pair for pair in here.pairs if (pair["first"], pair["second"]) == (first, second)]
    wins = {
        name: [pair for pair in pairs if pair["rho_better"] == side]
        for name, side in ((first, "first"), (second, "second"))
    }
    ties = [pair["nuisance"] for pair in pairs if pair["rho_better"] == "tie"]
    if len(ties) == len(pairs):
        under = f"under {ties[0]}" if len(ties) == 1 else f"under {_all(len(ties))}"
        return (
            f"{first} and {second} tie {under}: no interval of their paired difference in ρ lies on one side of "
            f"zero{_accuracy_beside(pairs) if here.labelled else ''}."
        )
    parts = []
    for name, other in sorted(((first, second), (second, first)), key=lambda each: -len(wins[each[0]])):
        if wins[name]:
            parts.append(_wins(here, name, other, wins[name], len(pairs)))
    if ties:
        parts.append(f"they tie under {listed(ties)}")
    return "; ".join(parts) + "."


def _accuracy_beside(pairs: Sequence[Row]) -> str:
    """What accuracy says where ρ says nothing."""
    apart = [pair for pair in pairs if pair["accuracy_nuisance_better"] != "tie"]
    if not apart:
        return ", and none of that in accuracy does"
    ahead = listed([f"{pair[pair['accuracy_nuisance_better']]} is ahead under {pair['nuisance']}" for pair in apart], 3)
    return f"; in accuracy {ahead}"


def _all(count: int) -> str:
    return "both nuisances" if count == 2 else f"all {count} nuisances"


def _wins(here: RobustnessRows, name: str, other: str, won: Sequence[Row], total: int) -> str:
    largest = max(won, key=lambda pair: abs(pair["rho_difference"]))
    bounds = largest["rho_interval"]
    bounds = bounds if largest["rho_difference"] > 0 else [-bounds[1], -bounds[0]]
    there = here.under(largest["nuisance"])
    rho = {row["classifier"]: row["rho"] for row in there.rows}
    numbers = (
        f"ρ {number(rho[name])} against {number(rho[other])}, "
        f"difference {estimate_text(abs(largest['rho_difference']), bounds)}, paired"
    )
    if there.labelled:
        sign = 1 if largest["rho_difference"] > 0 else -1
        accuracy = sorted(sign * end for end in largest["accuracy_nuisance_interval"])
        numbers += f"; in accuracy {estimate_text(sign * largest['accuracy_nuisance_difference'], accuracy)}"
    wins = "is more robust than" if there.labelled else "keeps to its own prediction more than"
    if total == 1:
        return f"{name} {wins} {other} under {largest['nuisance']} ({numbers})"
    under = _all(total) if len(won) == total else f"{len(won)} of {total} nuisances"
    where = f"the largest difference is under {largest['nuisance']} ({numbers})"
    return f"{name} {wins} {other} under {under}; {where}"


def _leader(nuisance: str, here: RobustnessRows) -> str:
    ranked = ranks(here)
    rho = {row["classifier"]: row for row in here.rows}
    best = here.best
    tied = [name for name, (top, _) in ranked.items() if top == 1 and name != best]
    also = f"; not told apart from it: {listed(tied)}" if tied else "; every other classifier is less robust"
    highest = both_intervals(rho[best]["rho"], rho[best]["interval"], rho[best]["interval_simultaneous"])
    return f"under {nuisance} ρ is highest for {best}, {highest}{_most_accurate(here, best)}{also}."


def _most_accurate(here: RobustnessRows, best: str) -> str:
    """Accuracy beside ρ, and who leads in it where that is another one."""
    if not here.labelled:
        return ""
    by = {row["classifier"]: row["accuracy_nuisance"] for row in here.rows}
    most = max(by, key=lambda name: by[name])
    if by[most] == by[best]:
        return f", and accuracy too, {number(by[best])}"
    return f", with accuracy {number(by[best])}, which is highest for {most}, {number(by[most])}"


def ranks(here: RobustnessRows) -> dict[str, tuple[int, int]]:
    """Each classifier's best and worst possible rank by ρ under one nuisance, given the paired intervals: a tie unless
    both are equal."""
    names = here.classifiers
    above, below = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for pair in here.pairs:
        if pair["rho_better"] != "tie":
            better, worse = (pair["first"], pair["second"])[:: 1 if pair["rho_better"] == "first" else -1]
            above[worse] += 1
            below[better] += 1
    return {name: (1 + above[name], len(names) - below[name]) for name in names}


def _most_brittle(rows: Sequence[Row]) -> str:
    """Where one classifier is weakest: under which nuisance, and there on which class."""
    worst = min(rows, key=lambda row: row["rho"])
    name, nuisance = worst["classifier"], worst["nuisance"]
    where = f"{name} is most brittle under {nuisance}" if len(rows) > 1 else f"{name} under {nuisance}"
    said = f"{where}: ρ {estimate_text(worst['rho'], worst['interval'])}"
    if len(rows) > 1:  # picked out after the fact: its interval holds together with those it was picked from
        bounds = worst["interval_simultaneous"]
        near = [
            row["nuisance"]
            for row in rows
            if row is not worst and bounds is not None and row["interval_simultaneous"][0] <= bounds[1]
        ]
        tie = f", a tie with {listed(near, 3)}" if near else ""
        said = f"{where}: ρ {both_intervals(worst['rho'], worst['interval'], bounds)}{tie}"
    if worst.get("accuracy_nuisance") is not None:
        said += f"; accuracy {number(worst['accuracy_nuisance'])} instead of {number(worst['accuracy_clean'])}"
        if worst["accuracy_worst"] is not None:
            said += (
                f", and {number(worst['accuracy_worst'])} if all of the first {worst['worst_of']} draws must be right"
            )
    else:
        said += f"; it leaves its clean prediction in {100 * worst['flip_rate']:.1f} % of the draws"
    classes = worst.get("classes", [])
    return f"{said}. {_weakest_class(classes)}".strip() if len(classes) > 1 else f"{said}."


def _weakest_class(classes: Sequence[Row]) -> str:
    ordered = sorted(classes, key=lambda each: each["rho"])
    weakest = ordered[0]
    bounds = weakest["interval_simultaneous"]
    if bounds is None or tells_nothing(bounds) or weakest["images"] < FEWEST_OF_A_CLASS:
        return ""
    said = (
        f"The lowest class there is {weakest['class']}, ρ {both_intervals(weakest['rho'], weakest['interval'], bounds)}"
    )
    near = [each["class"] for each in ordered[1:] if each["interval_simultaneous"][0] <= bounds[1]]
    apart = f", not told apart from {listed(near, 3)}" if near else ", below every other class"
    return f"{said}{apart} (intervals simultaneous over {len(classes)} classes)."


def cautions(results: RobustnessRows) -> list[str]:
    """Tolerances that were not reached, and images without labels."""
    said = []
    for row in results.rows:
        if row["tolerance"] is not None and not row["tolerance_reached"]:
            said.append(
                f"Tolerance not reached: {row['classifier']} under {row['nuisance']} has a half-width of "
                f"{number(row['half_width'], 4)} where {row['tolerance']:g} was asked for; the plan ran out first."
            )
    for name in results.image_sets:
        if not results.on(name).labelled:
            said.append(
                f"The images of {name} have no labels (or not all have one): where there is none, ρ and right or wrong "
                "refer to each classifier's own clean prediction, so accuracies are not given."
            )
    return said


STOPPED = (
    "Stopping at a tolerance biases ρ̂ a little, upwards near 1: by about a tenth of the half-width at most in "
    "simulations. The intervals hold all the same."
)


def limits(results: RobustnessRows) -> list[str]:
    """What the numbers do not say."""
    first, count = results.first, len(results.rows)
    said = [
        "ρ is a mean confidence. It moves with calibration: making a classifier more or less certain of the same "
        "answers changes ρ, and can change who leads. Read it beside accuracy under the nuisance, which calibration "
        "does not change.",
        "A nuisance’s prior can destroy the label itself. Then a low ρ is not the classifier’s fault: look at the "
        "gallery.",
        f"The intervals are for the estimand named: ρ of {first['estimand_is']}. {_estimand_limit(first['estimand'])}",
    ]
    alone = (
        f"Intervals in one table hold one by one, each with {percent(first['confidence'])} confidence, unless they are "
        "called simultaneous."
    )
    if count > 1:
        alone += f" Of {count} such intervals for ρ, expect up to {count * (1 - first['confidence']):.2g} to miss."
    if len(results.nuisances) > 1:
        if results.compared:
            alone += " Verdicts in the paired table are simultaneous over all its rows."
        alone += " A classifier’s lowest nuisance is picked out after the fact, and looks a little worse than it is."
    said.append(alone)
    if any(row["tolerance"] is not None for row in results.rows):
        said.append(STOPPED)
    if results.compared:
        said.append(
            "A tie means that these images and draws can't tell two classifiers apart, not that they are equal."
        )
    shows = f"worst of {results.worst_of} shows" if results.worst_of else "any number of random draws"
    said.append(
        f"ρ is an average over the prior. It is not the worst case: an adversary who chooses θ does more harm than "
        f"{shows}."
    )
    return said


def _estimand_limit(estimand: str) -> str:
    return {
        "population": "They hold if the images are a random sample of what the classifier will meet, with labels that "
        "are right; no interval covers images of another kind.",
        "set": "They say nothing about other images.",
    }.get(estimand, "They say nothing about images outside that set.")
