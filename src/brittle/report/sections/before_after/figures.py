"""Figures of before and after: the change of every class, and the candidates of a hardening."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from brittle.report.blocks.figure import (
    Axis,
    Figure,
    Intervals,
    Line,
    Mark,
    Of,
    Panel,
    Points,
    Role,
    Rule,
    category_axis,
)
from brittle.report.blocks.text import ClassifierName
from brittle.report.page.section import Row
from brittle.report.page.words import number
from brittle.report.sections.before_after.changes import QUANTITIES, change, side
from brittle.report.sections.before_after.record import Candidate, HardeningRecord
from brittle.report.sections.marks import chart

MOST_NUMBERED = 10  # rounds; past so many the figure does not number them
FAR = 0.1  # of clean accuracy: a bound so far below every candidate is said, not drawn


def is_far(record: HardeningRecord) -> bool:
    """Whether the least clean accuracy allowed lies outside the figure."""
    return record.least < min(each.accuracy_clean for each in record.rounds) - FAR


def candidate_figure(record: HardeningRecord, difference: Row) -> Figure:
    """ρ against clean accuracy on the held-out images; a line leads from the untouched weights to a round's own."""
    untouched, best = record.rounds[0], record.rounds[record.chosen]
    return chart(
        f"ρ against clean accuracy of {len(record.rounds)} candidates on the held-out images: untouched "
        f"{number(untouched.rho)} at {number(untouched.accuracy_clean)}, chosen {number(best.rho)} at "
        f"{number(best.accuracy_clean)}, least clean accuracy allowed {number(record.least)}",
        _candidates(record, difference),
        Axis("clean accuracy", grid=True),
        Axis("ρ", grid=True),
        "Further up is more robust, further right more accurate untouched. Thin lines lead from the untouched weights "
        "through the candidates of a round.",
        height=3.5,
    )


def _candidates(record: HardeningRecord, difference: Row) -> Iterator[Mark]:
    untouched, best = record.rounds[0], record.rounds[record.chosen]
    rounds: dict[int, list[Candidate]] = {}
    for each in record.rounds[1:]:
        rounds.setdefault(each.round, []).append(each)
    for turn, found in rounds.items():
        walk = [untouched, *sorted(found, key=lambda each: each.way)]
        x, y = tuple(each.accuracy_clean for each in walk), tuple(each.rho for each in walk)
        texts = (*[""] * (len(found) - 1), f"round {turn}") if len(rounds) <= MOST_NUMBERED else ()
        yield Line(Role("neutral"), x, y, "solid", "hair", faint=True)
        yield Points(Role("neutral", "candidates"), x[1:], y[1:], texts=texts)
    first = ClassifierName(difference["before"], "untouched" if record.chosen else "untouched, and chosen")
    yield Points(first, (untouched.accuracy_clean,), (untouched.rho,))
    if record.chosen:
        yield Points(ClassifierName(difference["after"], "chosen"), (best.accuracy_clean,), (best.rho,))
    if not is_far(record):
        yield Rule(record.least, of=Role("reference"), dash="dashed", text="least clean accuracy allowed")


def class_figure(difference: Row, classes: Sequence[Row]) -> Figure:
    """A row per class and a panel per quantity: the difference with its simultaneous interval, around zero, in the
    colour of the better one."""
    sides: dict[int, Of] = {
        1: ClassifierName(difference["after"]),
        -1: ClassifierName(difference["before"]),
        0: Role("neutral"),
    }

    def marks(quantity: str) -> Iterator[Mark]:
        yield Rule(0.0)
        for place, each in enumerate(classes):
            who, found = sides[side(each, quantity)], change(each, quantity)
            yield Intervals(who, (place,), (found.low,), (found.high,), "x")
            yield Points(who, (found.value,), (place,), hollow=True)

    told = ", ".join(f"{each['class']} {number(each['rho'], sign='+')}" for each in classes[:5])
    return Figure(
        f"after − before per class, the least gain in ρ first: {told}",
        tuple(
            Panel(
                tuple(marks(quantity)),
                Axis(name, grid=True),
                category_axis([row["class"] for row in classes], falling=True),
            )
            for quantity, name in QUANTITIES.items()
        ),
        "After minus before, class by class: right of the line a class has gained. Bars are intervals; where one "
        "reaches over the line, these images can’t tell.",
        height=0.8 + 0.27 * len(classes),
        share="both",
        legend=False,
    )
