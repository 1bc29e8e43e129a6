"""Robustness on the first screen: one sentence, with accuracy beside ρ, and a matrix of all that was measured.

A classifier is called ahead of another where the paired interval of their difference lies on one side of zero, which
holds for all comparisons of the run at once."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from brittle.report.blocks import Sentence, Weighted
from brittle.report.blocks.matrix import Matrix, Square
from brittle.report.blocks.text import ClassifierName, Span, Styled
from brittle.report.blocks.wording import estimate
from brittle.report.page.section import Row, compared
from brittle.report.page.words import interval, listed, number, percent
from brittle.report.sections.robustness.results import RobustnessRows

VERDICT, MAP = 0.9, 1.0  # how much they matter
MOST_NAMED = 3
IN_ORDER = 6, 12  # up to so many classifiers and nuisances stand in the study's order
ACCURACY, RHO = "accuracy_nuisance", "rho"


def verdicts(results: RobustnessRows, many_sets: bool) -> Iterator[Weighted]:
    """A sentence per image set; the first set's matters most."""
    for place, images in enumerate(results.image_sets):
        here = results.on(images)
        said = _one(here) if len(here.classifiers) == 1 else _two(here) if len(here.classifiers) == 2 else _many(here)
        text = f"On {images}: {said}" if many_sets else said
        about = compared(images, *here.classifiers) if len(here.classifiers) == 2 else ("verdict", images)
        yield Weighted(Sentence(text, "finding"), VERDICT - 0.001 * place, about)


def maps(results: RobustnessRows, many_sets: bool) -> Iterator[Weighted]:
    """A matrix per image set: nuisances by classifiers, and the means over nuisances above them."""
    for place, images in enumerate(results.image_sets):
        yield Weighted(_map(results.on(images), images, many_sets), MAP - 0.001 * place, ("map", images))


def _map(here: RobustnessRows, images: str, many_sets: bool) -> Matrix:
    by = {(row["nuisance"], row["classifier"]): row for row in here.rows}
    classifiers, nuisances = _classifiers(here), _nuisances(here)
    names: list[Span] = list(nuisances)
    rows = [[_square(by.get((nuisance, name)), here.labelled) for name in classifiers] for nuisance in nuisances]
    if here.means:
        clean = {row["classifier"]: row.get("accuracy_clean") for row in here.rows}
        means = {row["classifier"]: {**row, "accuracy_clean": clean[row["classifier"]]} for row in here.means}
        names.insert(0, Styled(f"Mean of {len(here.means[0]['nuisances'])}", "strong"))
        rows.insert(0, [_square(means.get(name), here.labelled) for name in classifiers])
    order = [
        *["the best classifier comes first"] * (len(classifiers) > IN_ORDER[0]),
        *["the nuisance that does most harm comes first"] * (len(nuisances) > IN_ORDER[1]),
    ]
    what = "Accuracy and ρ" if here.labelled else "ρ"
    confidence = percent(here.first["confidence"])
    meant = "the right label" if here.labelled else "its own clean prediction"
    tick = " The tick is clean accuracy." if here.labelled else " There are no labels, so there is no accuracy."
    return Matrix(
        f"{what} of {listed(here.classifiers)} under each nuisance{f' on {images}' * many_sets}",
        tuple(names),
        tuple(ClassifierName(name) for name in classifiers),
        tuple(map(tuple, rows)),
        ("accuracy", "ρ") if here.labelled else ("ρ",),
        "clean accuracy" if here.labelled else "",
        reading=f"ρ is the mean probability of {meant}. The bar is pale over the {confidence} interval of the first "
        f"number, which holds on its own; the gap in it is the number.{tick} The redder a square, the more answers are "
        f"wrong.{f' Of these many, {listed(order)}.' if order else ''}",
    )


def _classifiers(here: RobustnessRows) -> list[str]:
    """In the study's order; of many the best first, so that the verdict's is in sight."""
    if len(here.classifiers) <= IN_ORDER[0]:
        return here.classifiers
    return sorted(here.classifiers, key=lambda name: -_overall(here, name)[0][_first(here)])


def _nuisances(here: RobustnessRows) -> list[str]:
    """In the study's order; of many those that do most harm first."""
    if len(here.nuisances) <= IN_ORDER[1]:
        return here.nuisances
    return sorted(here.nuisances, key=lambda name: statistics.fmean(row[_first(here)] for row in here.under(name).rows))


def _first(here: RobustnessRows) -> str:
    """The number that comes first in a square."""
    return ACCURACY if here.labelled else RHO


def _square(row: Row | None, labelled: bool) -> Square | None:
    if row is None:
        return None
    rho = estimate(row, RHO, "interval")
    return Square((estimate(row, ACCURACY), rho), row["accuracy_clean"]) if labelled else Square((rho,))


def _one(here: RobustnessRows) -> str:
    """One classifier: how much of its accuracy is left, and where least."""
    row, where = _overall(here, here.classifiers[0])
    name, rho = here.classifiers[0], f"ρ {_text(row, RHO)}"
    if not here.labelled:
        return (
            f"{name} gives its own clean prediction with a mean probability of {_text(row, RHO)} {where} (that is ρ)."
        )
    said = (
        f"{name} is right on {_text(row, ACCURACY)} of the images {where}, and on {_clean(here, name)} untouched; {rho}"
    )
    if len(here.nuisances) > 1:
        worst = min(here.rows, key=lambda each: each[ACCURACY])
        said += f"; least under {worst['nuisance']}, {_number(worst, ACCURACY)} (ρ {_number(worst, RHO)})"
    return f"{said}."


def _two(here: RobustnessRows) -> str:
    """Who is ahead, under how many nuisances, by both numbers."""
    keys = (ACCURACY, RHO) if here.labelled else (RHO,)
    wins = {key: _wins(here, key) for key in keys}
    first, second = sorted(here.classifiers, key=lambda name: [-wins[key][name] for key in keys])
    total, means = len(here.nuisances), [_numbers(here, key, first, second) for key in keys]
    shared = all(wins[key][first] == total for key in keys)
    where = (
        f"under {here.nuisances[0]}"
        if total == 1
        else "under both nuisances"
        if total == 2
        else f"under all {total} nuisances"
    )
    if shared:
        return f"{first} is more robust than {second} {where}, by {' and by '.join(means)}."
    if not any(wins[key][name] for key in keys for name in (first, second)):
        return f"{first} and {second} tie {where}, by {' and by '.join(means)}: these images can’t tell them apart."
    parts = [f"{_counted(wins[key], first, second, total)} by {text}" for key, text in zip(keys, means, strict=True)]
    doubt = "; the two numbers disagree, see below" if _disagree(here) else ""
    return f"Between {first} and {second}: {'; '.join(parts)}{doubt}."


def _counted(wins: dict[str, int], first: str, second: str, total: int) -> str:
    """plain is ahead under 3 of 7 nuisances and augmented under 1"""
    if not wins[first] and not wins[second]:
        return "a tie" if total == 1 else f"a tie under all {total} nuisances"
    said = [f"{name} is ahead under {wins[name]}" for name in (first, second) if wins[name]]
    return f"{' and '.join(said)} of {total} nuisances" if total > 1 else said[0].removesuffix(" under 1")


def _many(here: RobustnessRows) -> str:
    """Who leads on average, and who can't be told apart from it under any nuisance."""
    key = ACCURACY if here.labelled else RHO
    leaders = {each: max(here.classifiers, key=lambda name: _overall(here, name)[0][each]) for each in (key, RHO)}
    best = leaders[key]
    row, where = _overall(here, best)
    tied = [name for name in here.classifiers if name != best and not _beaten(here, best, name, key)]
    also = f"not told apart from it under any nuisance: {listed(tied, MOST_NAMED)}" if tied else "ahead of every other"
    if not tied and len(here.nuisances) > 1:
        also += " under at least one nuisance"
    if not here.labelled:
        return f"Of {len(here.classifiers)} classifiers {best} has the highest ρ {where}, {_text(row, RHO)}; {also}."
    other = (
        ""
        if leaders[RHO] == best
        else f"; by ρ, {leaders[RHO]} leads with {_number(_overall(here, leaders[RHO])[0], RHO)}"
    )
    return (
        f"Of {len(here.classifiers)} classifiers {best} is most often right {where}: accuracy {_text(row, ACCURACY)} "
        f"instead of {_clean(here, best)} untouched, ρ {_text(row, RHO)}{other}; {also}."
    )


def _overall(here: RobustnessRows, name: str) -> tuple[Row, str]:
    """The mean over nuisances of a classifier, or its only row, and what that is over."""
    mean = next((row for row in here.means if row["classifier"] == name), None)
    if mean is not None:
        return mean, f"on average over {len(mean['nuisances'])} nuisances"
    row = here.of(name)[0]
    return row, f"under {row['nuisance']}"


def _numbers(here: RobustnessRows, key: str, first: str, second: str) -> str:
    """accuracy (0.848 against 0.617 on average)"""
    one, other = (_number(_overall(here, name)[0], key) for name in (first, second))
    average = " on average" * (len(here.nuisances) > 1 and (key == ACCURACY or not here.labelled))
    return f"{'ρ' if key == RHO else 'accuracy'} ({one} against {other}{average})"


def _wins(here: RobustnessRows, key: str) -> dict[str, int]:
    """Under how many nuisances each of two classifiers is ahead."""
    wins = dict.fromkeys(here.classifiers, 0)
    for pair in here.pairs:
        if pair[f"{key}_better"] != "tie":
            wins[pair[pair[f"{key}_better"]]] += 1
    return wins


def _disagree(here: RobustnessRows) -> bool:
    """Whether a nuisance has one classifier ahead by ρ, and the other by accuracy."""
    sides = ((pair[f"{RHO}_better"], pair.get(f"{ACCURACY}_better", "tie")) for pair in here.pairs)
    return any({rho, accuracy} == {"first", "second"} for rho, accuracy in sides)


def _beaten(here: RobustnessRows, best: str, name: str, key: str) -> bool:
    """Whether the best is ahead of another under at least one nuisance."""
    pairs: Sequence[Row] = [pair for pair in here.pairs if {pair["first"], pair["second"]} == {best, name}]
    return any(pair[f"{key}_better"] != "tie" and pair[pair[f"{key}_better"]] == best for pair in pairs)


def _clean(here: RobustnessRows, name: str) -> str:
    return number(here.of(name)[0]["accuracy_clean"])


def _number(row: Row, key: str) -> str:
    return number(row[key])


def _text(row: Row, key: str) -> str:
    bounds = row.get("interval" if key == RHO else f"{key}_interval")
    return f"{number(row[key])} {interval(bounds)}".strip()
