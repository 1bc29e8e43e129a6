"""Shares in words, as shuffling, cue conflict and error consistency have them: per cent, differences, a few lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType

from brittle.report.page.section import compared
from brittle.report.page.words import number, percent
from brittle.report.sections.legacy import EVERYTHING, Finding, line

Row = Mapping[str, Any]
MOST = 10  # lines of a kind on the console


def share(value: float | None) -> str:
    """22.1 %"""
    return "–" if value is None else f"{100 * value:.1f} %"


def shares(value: float | None, bounds: Sequence[float] | None) -> str:
    """22.1 % [15.0, 30.0]"""
    ends = "" if value is None or bounds is None else f" [{100 * bounds[0]:.1f}, {100 * bounds[1]:.1f}]"
    return f"{share(value)}{ends}"


def apart(value: float | None, bounds: Sequence[float] | None) -> str:
    """A difference of shares, in points: −0.7 [−6.4, +5.3]"""
    if value is None:
        return "–"
    ends = "" if bounds is None else f" [{number(100 * bounds[0], 1, '+')}, {number(100 * bounds[1], 1, '+')}]"
    return f"{number(100 * value, 1, '+')}{ends}"


def larger(pair: Row) -> str:
    """Whose number is larger, or that it is a tie."""
    name = {"first": pair["first"], "second": pair["second"]}.get(pair["larger"])
    return "a tie" if name is None else f"{name}’s is larger"


def finding(pair: Row, what: str, weight: float) -> Finding | None:
    """Of which classifier something is higher; None where it is a tie."""
    names = {"first": (pair["first"], pair["second"]), "second": (pair["second"], pair["first"])}
    if pair["larger"] not in names:
        return None
    more, less = names[pair["larger"]]
    text = (
        f"{what.capitalize()} is higher for {more} than for {less}: by {100 * abs(pair['difference']):.1f} points "
        f"({percent(pair['confidence'])} interval of the difference {apart(pair['difference'], pair['interval'])})."
    )
    return Finding(text, weight, compared(pair["image_set"], more, less))


def difference(pair: Row, what: str) -> str:
    """The same as a line for the console."""
    family = f" (simultaneous over {pair['family']} comparisons)" if pair["family"] > 1 else ""
    return (
        f"{what}, {pair['first']} − {pair['second']} in points: "
        f"{apart(pair['difference'], pair['interval'])}{family}, {larger(pair)}"
    )


def few(lines: Sequence[str]) -> Iterator[RenderableType]:
    """Lines for the console, and how many more there are."""
    yield from (line(each) for each in lines[:MOST])
    if len(lines) > MOST:
        yield line(f"  … and {len(lines) - MOST} more ({EVERYTHING})")
