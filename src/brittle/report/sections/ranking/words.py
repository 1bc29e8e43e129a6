"""Ranks and changes of place in words."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.page.section import Row
from brittle.report.page.words import counted, percent

MOST_CHANGES = 3  # pairs of which it is said where they change places
BY = {"accuracy": "by accuracy", "drop": "by drop"}


def rank(least: int, most: int) -> str:
    """2; 2–4 where tests leave it open."""
    return str(least) if least == most else f"{least}–{most}"


def severities(values: Sequence[float], most: int = 4) -> str:
    """1, 2 and 5"""
    shown = [f"{value:g}" for value in values]
    if len(shown) > most:
        return f"{shown[0]} to {shown[-1]} ({len(shown)} of them)"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


def swap(row: Row, pair: Row) -> str:
    """A is better at 1 and 2, and B at 4 and 5 (level)"""
    return (
        f"{pair['first']} is better at {severities(pair['first_better_at'])}, and {pair['second']} at "
        f"{severities(pair['second_better_at'])} ({row['unit']})"
    )


def changes(row: Row) -> str:
    """Whether classifiers change places along the scale, and whether that is more than noise."""
    changing, real = row["changing_places"], len(row["swaps"])
    if not changing:
        return "no two classifiers change places along the scale"
    said = f"{changing} of {counted(len(row['pairs']), 'pair')} {'changes' if changing == 1 else 'change'} places"
    return f"{said} along the scale{_where(row)}, {real or 'none'} of them by more than noise"


def _where(row: Row) -> str:
    """Of a few pairs, between which severities."""
    changing = [pair for pair in row["pairs"] if pair["change_places"]]
    if len(changing) > MOST_CHANGES:
        return ""
    told = [
        f"{pair['first']} and {pair['second']} between "
        + ", ".join(f"{before:g} and {after:g}" for before, after in pair["change_places"])
        for pair in changing
    ]
    return f" ({'; '.join(told)})"


def differing(row: Row) -> str:
    """How many differences of how many are significant."""
    found = sum(verdict != "tie" for pair in row["pairs"] for verdict in pair["better"])
    asked = sum(len(pair["better"]) for pair in row["pairs"])
    return f"{found} of {asked} differences here are significant"


def how(row: Row) -> str:
    """What ties mean."""
    test = "McNemar’s exact test" if row["paths"] == 1 and row["by"] == "accuracy" else "paired sign-flip tests"
    return (
        f"{test} with Holm’s correction over all {row['family']:,} comparisons {BY[row['by']]}, so that "
        f"with a probability of {percent(row['confidence'])} no difference is false"
    )


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def in_order(row: Row) -> list[Row]:
    """Classifiers from the best to the worst on average over the severities."""
    sign = -1 if row["by"] == "accuracy" else 1
    return sorted(row["classifiers"], key=lambda each: sign * mean(each["values"]))
