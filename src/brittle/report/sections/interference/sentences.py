"""Interference in words that people use: of 12 points lost, 7 go to Bag; chance would be 1.3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Row = Mapping[str, Any]
CHANCE = 0.05  # below it the index is more than chance gives

LIMITS = (
    "The DI index says that errors gather in one class, not why: the distortion may bring features of that class, or "
    "destroy those of others.",
    "Its maximum and its positive part bias it upwards: read it against the chance level beside it, not against zero.",
    "The interval over runs is a bootstrap of a handful of runs, and rough.",
)


def points(row: Row) -> str:
    """Of 12.0 points lost, 7.1 go to Bag; chance would be 1.2"""
    if row["di"] is None:
        return "no class gains wrong predictions"
    return (
        f"of {row['points_lost']:.1f} points lost, {row['points_to_top']:.1f} go to {row['top_class']}; "
        f"chance would be {row['points_by_chance']:.1f}"
    ).replace("-", "−")


def consistency(row: Row) -> str:
    if row["runs"] == 1:
        return "one run: whether others favour the same class is unknown"
    return f"{row['top_class']} is the top class of {row['agreeing_runs']} of {row['runs']} runs"


def beyond_chance(row: Row) -> bool:
    return row["di"] is not None and row["chance_spread"]["p_value"] < CHANCE


def headline(row: Row) -> str:
    """For the top of the report."""
    verdict = "more than chance gives" if beyond_chance(row) else "no more than chance gives"
    return (
        f"Under {row['nuisance']}, errors of {row['group']} gather in {row['top_class']}: {points(row)}. "
        f"That is {verdict} (DI {row['di']:.2f}, by chance {row['chance_spread']['mean']:.2f})"
    )


def two_classes(row: Row) -> str:
    return "with two classes every error goes to the other one: the index says little" if row["classes"] == 2 else ""
