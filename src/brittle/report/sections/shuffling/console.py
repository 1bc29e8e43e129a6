"""Shuffled patches on the console: a table per image set, where errors go, and differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from brittle.report.page import distortion
from brittle.report.page.words import counted, percent
from brittle.report.sections.legacy import line, plain_table
from brittle.report.sections.shares import Row, difference, few, share, shares
from brittle.report.sections.shuffling import words


def printed(summary: Mapping[str, Any]) -> RenderableType:
    shown: list[RenderableType] = []
    for images, group in groupby(summary["results"], lambda row: row["image_set"]):
        rows = list(group)
        shown += [
            line(("Shuffled patches", "bold"), f" on {images}, {counted(rows[0]['images'], 'image')}"),
            _table(rows),
        ]
        gathered = [(row, each) for row in rows for each in row["shuffled"]]
        shown += few([f"  {r['classifier']} on {words.grid(e['grid'])}: {distortion.points(e)}" for r, e in gathered])
        pairs = [pair for pair in summary["comparisons"] if pair["image_set"] == images]
        shown += few([f"  {difference(pair, words.what(pair))}" for pair in pairs])
        shown.append(line())
    first = summary["results"][0]
    closing = f"{percent(first['confidence'])} intervals of accuracies over images ({words.how(first)})"
    return Group(*shown, line(f"{closing}; seed {first['seed']}."))


def _table(rows: Sequence[Row]) -> Table:
    grids = [words.grid(each["grid"]) for each in rows[0]["shuffled"]]
    table = plain_table("", "untouched", *(f"{head}{grid}" for grid in grids for head in ("", "points lost, ")))
    for row in rows:
        cells = [share(row["accuracy_clean"])]
        for each in row["shuffled"]:
            cells += [
                shares(each["accuracy"], each["accuracy_interval"]),
                words.points(each["points_lost"], each["points_lost_interval"]),
            ]
        table.add_row(row["classifier"], *cells)
    return table
