"""Interference in words that people use: of 12 points lost, 7 go to Bag; chance would be 1.3."""

from __future__ import annotations

from brittle.report.page.section import Row
from brittle.report.sections.distortion import points

LIMITS = (
    "The DI index says that errors gather in one class, not why: the distortion may bring features of that class, or "
    "destroy those of others.",
    "Its maximum and its positive part bias it upwards: read it against the chance level beside it, not against zero.",
    "The interval over runs is a bootstrap of a handful of runs, and rough.",
)


def consistency(row: Row) -> str:
    if row["di"] is None:
        return "the index is undefined"
    if row["runs"] == 1:
        return "one run: whether others favour the same class is unknown"
    return f"{row['top_class']} is the top class of {row['agreeing_runs']} of {row['runs']} runs"


def headline(row: Row) -> str:
    """For the top of the report, where errors gather."""
    return (
        f"Under {row['nuisance']}, errors of {row['group']} gather in {row['top_class']}: {points(row)}. "
        f"That is more than chance gives (DI {row['di']:.2f}, by chance {row['chance_spread']['mean']:.2f})"
    )


def two_classes(row: Row) -> str:
    return "with two classes every error goes to the other one: the index says little" if row["classes"] == 2 else ""
