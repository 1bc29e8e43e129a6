"""Error consistency on the console: κ of every pair, and with people."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from rich.console import Group, RenderableType

from brittle.report.page.words import counted, percent
from brittle.report.sections.error_consistency import words
from brittle.report.sections.legacy import line
from brittle.report.sections.shares import Row, few, share


def printed(summary: Mapping[str, Any]) -> RenderableType:
    shown: list[RenderableType] = []
    for images, group in groupby(summary["results"], lambda row: row["image_set"]):
        shown.append(
            line(("Error consistency", "bold"), f" κ on {images} (1: wrong on the same images, 0: as chance has it):")
        )
        shown += few([f"  {_consistency(pair)}" for pair in group])
        shown += few([f"  {_people(each)}" for each in summary["people"] if each["image_set"] == images])
        shown.append(line())
    first = summary["results"][0]
    closing = f"{percent(first['confidence'])} intervals of κ by bootstrap ({first['resamples']} draws)"
    return Group(*shown, line(f"{closing}; seed {first['seed']}."))


def _consistency(pair: Row) -> str:
    value = words.kappa(pair["kappa"], pair["interval"])
    return (
        f"{pair['first']} and {pair['second']}: {value}, both right or both wrong on {share(pair['observed'])}"
        f" of {counted(pair['images'], 'image')}, {share(pair['expected'])} by chance"
    )


def _people(row: Row) -> str:
    who = "people with one another" if row["decider"] == "people" else f"{row['decider']} with people"
    return f"{who}, mean over {row['people']}: {words.kappa(row['kappa'], row['interval'])}"
