"""Connectedness on the console: per classifier a line of totals, a row per class, and what the words mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from brittle.report.page.words import number, sentence
from brittle.report.sections.connectedness.words import (
    CHANGES,
    STRONGLY,
    WEAKLY,
    Row,
    bubbles,
    changes,
    difference,
    outside,
    pairs,
    sizes,
    straight,
    with_changes,
)
from brittle.report.sections.legacy import EVERYTHING, line, plain_table

COLUMNS = (
    *("class", "right", "bubbles", "sizes", "weakly", "candidate"),
    *("straight", "curved", "unknown", "least margin"),
)
MOST_CLASSES = 20
MOST_PAIRS = 10  # of classifiers
MOST_RESULTS = 8  # class by class


def printed(summary: Mapping[str, Any]) -> RenderableType:
    shown: list[RenderableType] = []
    for row in summary["results"]:
        shown += _result(row, _classes(summary, row) if len(summary["results"]) <= MOST_RESULTS else ())
    compared = summary["comparisons"]
    shown += [line(difference(pair)) for pair in compared[:MOST_PAIRS]]
    if len(compared) > MOST_PAIRS:
        shown.append(line(f"… and {len(compared) - MOST_PAIRS} more differences ({EVERYTHING})"))
    meanings = (WEAKLY, STRONGLY, *((CHANGES,) if with_changes(summary["classes"]) else ()))
    return Group(*shown, *(line(sentence(each)) for each in meanings), *_closing(summary["results"][0]))


def _classes(summary: Mapping[str, Any], row: Row) -> list[Row]:
    return [
        each
        for each in summary["classes"]
        if (each["classifier"], each["image_set"]) == (row["classifier"], row["image_set"])
    ]


def _result(row: Row, classes: Sequence[Row]) -> Iterator[RenderableType]:
    yield line(
        (row["classifier"], "bold"),
        f" on {row['image_set']}: {row['right']} of {row['images']} images in {bubbles(row)}; "
        f"{row['in_one_bubble']} of {row['measured_classes']} classes are one bubble",
    )
    if row["misclassified"]:
        yield line(f"  {row['misclassified']} are misclassified and have no bubble")
    if classes:
        yield _table(classes[:MOST_CLASSES])
    if len(classes) > MOST_CLASSES:
        yield line(f"  … and {len(classes) - MOST_CLASSES} more classes ({EVERYTHING})")
    yield line(f"  {straight(row)}")
    yield line(f"  {pairs(row)}; {outside(row)}")
    yield line()


def _table(classes: Sequence[Row]) -> Table:
    known = with_changes(classes)
    table = plain_table(*COLUMNS, *(["smallest change"] if known else []))
    for row in classes:
        table.add_row(
            row["class"],
            f"{row['right']} of {row['images']}",
            str(row["bubbles"]),
            sizes(row["sizes"]),
            str(row["weakly_generalised"]),
            "yes" if row["candidate"] else "no",
            str(row["straight"]),
            str(row["curved"]),
            str(row["unknown"]),
            number(row["least_margin"], 2),
            *([changes(row)] if known else []),
        )
    return table


def _closing(first: Row) -> list[RenderableType]:
    return [
        line(
            "Unknown does not mean disconnected: the number of bubbles is an upper bound, and has no interval. UREM "
            f"speaks of training images; these are the images given. Seed {first['seed']}."
        )
    ]
