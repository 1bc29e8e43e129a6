"""Shares as blocks, as shuffling, cue conflict and error consistency have them: differences, findings, a few lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from brittle.report.blocks import Block, Estimate, Group, Sentence, Table, Verdict, Weighted
from brittle.report.blocks.wording import plain
from brittle.report.page.section import compared
from brittle.report.page.words import percent
from brittle.report.renderers.console import EVERYTHING

Row = Mapping[str, Any]
MOST = 10  # lines of a kind on the console
MOST_PAIRS = 45


def points(pair: Row) -> Estimate:
    """A difference of shares, in points: −0.7 [−6.4, +5.3]"""
    ends = pair["interval"] or (None, None)
    value, low, high = (None if each is None else 100 * each for each in (pair["difference"], *ends))
    return Estimate(value, low, high, places=1, signed=True)


def larger(pair: Row) -> str | None:
    """Whose number is larger; None where it is a tie."""
    return {"first": pair["first"], "second": pair["second"]}.get(pair["larger"])


def finding(pair: Row, what: str, weight: float) -> Weighted | None:
    """Of which classifier something is higher; None where it is a tie."""
    more = larger(pair)
    if more is None:
        return None
    less = pair["second"] if more == pair["first"] else pair["first"]
    text = (
        f"{what.capitalize()} is higher for {more} than for {less}: by {100 * abs(pair['difference']):.1f} points "
        f"({percent(pair['confidence'])} interval of the difference {plain((points(pair),))})."
    )
    return Weighted(Sentence(text, "finding"), weight, compared(pair["image_set"], more, less))


def difference(pair: Row, what: str) -> str:
    """The same as a line for the console."""
    family = f" (simultaneous over {pair['family']} comparisons)" if pair["family"] > 1 else ""
    more = larger(pair)
    verdict = "a tie" if more is None else f"{more}’s is larger"
    return f"{what}, {pair['first']} − {pair['second']} in points: {plain((points(pair),))}{family}, {verdict}"


def differences(pairs: Sequence[Row], what: Callable[[Row], str]) -> list[Block]:
    """The first pairs of classifiers with their differences; nothing without pairs."""
    if not pairs:
        return []
    rows = tuple(
        (what(pair), f"{pair['first']} − {pair['second']}", points(pair), Verdict(larger(pair)))
        for pair in pairs[:MOST_PAIRS]
    )
    at_once = f" hold for all {pairs[0]['family']} comparisons at once" if pairs[0]["family"] > 1 else ""
    note = Sentence(f"Paired over images; intervals{at_once}.", "note")
    return [Group("Differences between classifiers", (Table(("of", "first − second", "points", "larger"), rows), note))]


def few(lines: Sequence[str]) -> list[Block]:
    """Lines for the console, and how many more there are."""
    more = [f"… and {len(lines) - MOST} more ({EVERYTHING})"] if len(lines) > MOST else []
    return [Sentence(text) for text in (*lines[:MOST], *more)]
