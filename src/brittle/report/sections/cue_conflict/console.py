"""Cue conflict on the console: a table per image set, and differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from brittle.report.page.words import percent
from brittle.report.sections.legacy import line, plain_table
from brittle.report.sections.shares import Row, difference, few, shares

SHAPE_BIAS = "shape bias"


def printed(summary: Mapping[str, Any]) -> RenderableType:
    shown: list[RenderableType] = []
    for images, group in groupby(summary["results"], lambda row: row["image_set"]):
        rows = list(group)
        also = [each for each in summary["deciders"] if each["image_set"] == images]
        stimuli, conflict = rows[0]["stimuli"], rows[0]["in_conflict"]
        shown += [
            line(("Shape against texture", "bold"), f" on {images}: {stimuli} stimuli, {conflict} of them in conflict"),
            _table([(row["classifier"], row) for row in rows] + [(row["name"], row) for row in also]),
        ]
        pairs = [pair for pair in summary["comparisons"] if pair["image_set"] == images]
        shown += few([f"  {difference(pair, SHAPE_BIAS)}" for pair in pairs])
        shown.append(line())
    first = summary["results"][0]
    closing = f"{percent(first['confidence'])} intervals by bootstrap over shape images and texture images"
    return Group(*shown, line(f"{closing} ({first['resamples']} draws); seed {first['seed']}."))


def _table(rows: Sequence[tuple[str, Row]]) -> Table:
    table = plain_table("", "answered by shape", "by texture", SHAPE_BIAS)
    for name, row in rows:
        table.add_row(
            name,
            *(shares(row[key], row[f"{key}_interval"]) for key in ("shape_accuracy", "texture_accuracy", "shape_bias")),
        )
    return table
