"""Targeted changes of layers on the console: a row per layer, which classifier needs more, and how it came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from brittle.report.page.words import number, percent
from brittle.report.sections.layer_changes.words import how, size, trend, which
from brittle.report.sections.layered import Row, share
from brittle.report.sections.legacy import line, plain_table


def printed(summary: Mapping[str, Any]) -> RenderableType:
    shown: list[RenderableType] = []
    for row in summary["results"]:
        shown += [
            line(
                (row["classifier"], "bold"),
                f" on {row['image_set']}, {row['correct']} of {row['images']} images correct: change of what a layer "
                "gives at which a target is predicted",
            ),
            _table(row),
        ]
        shown += [line(f"  {said}") for said in (trend(row), which(row)) if said]
        shown.append(line())
    for (first, second, images), group in groupby(
        summary["comparisons"], lambda pair: (pair["first"], pair["second"], pair["image_set"])
    ):
        pairs = list(group)
        together = f", simultaneous over {pairs[0]['family']} comparisons" if pairs[0]["family"] > 1 else ""
        shown += [
            line(
                f"share of the {pairs[0]['images']} images of {images} that both get right on which {first} needs a "
                f"larger relative change than {second}{together}"
            ),
            _shares(pairs),
            line(),
        ]
    first_row = summary["results"][0]
    return Group(
        *shown,
        line(
            f"{how(first_row)}. Medians over images classified correctly, with {percent(first_row['confidence'])} "
            "intervals; failures count as larger than anything found. rms: root mean square of the change over that of "
            f"what the layer gives; sizes are upper bounds on the smallest change; seed {first_row['seed']}."
        ),
    )


def _table(row: Row) -> Table:
    table = plain_table("", "layer", "rms", "max", "max / rms", "reached", folds=2)
    for each in row["layers"]:
        table.add_row(
            str(each["number"]),
            each["layer"],
            size(each["relative"], each["relative_interval"]),
            number(each["linf"], 3),
            number(each["linf_relative"], 2),
            share(each["reached"]),
        )
    return table


def _shares(pairs: Sequence[Mapping[str, Any]]) -> Table:
    table = plain_table("", "share of images", "needs more")
    for pair in pairs:
        better = {"first": pair["first"], "second": pair["second"]}.get(pair["better"], "tie")
        table.add_row(pair["layer"], size(pair["larger"], pair["interval"]), better)
    return table
