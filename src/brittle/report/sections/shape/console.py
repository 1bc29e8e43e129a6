"""Shape and texture on the console: a table per image set, differences, and whose errors are alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from brittle.report.page import distortion
from brittle.report.page.words import counted, percent
from brittle.report.sections.legacy import EVERYTHING, line, plain_table
from brittle.report.sections.shape import words
from brittle.report.sections.shape.words import Row

MOST = 10  # lines of a kind


def printed(summary: Mapping[str, Any]) -> RenderableType:
    shown: list[RenderableType] = []
    for images, group in groupby(summary["results"], lambda row: row["image_set"]):
        rows = list(group)
        also = [each for each in summary["deciders"] if each["image_set"] == images]
        if rows[0]["cue_conflict"] is not None:
            told = rows[0]["cue_conflict"]
            shown.append(
                line(
                    ("Shape against texture", "bold"),
                    f" on {images}: {told['stimuli']} stimuli, {told['in_conflict']} of them in conflict",
                )
            )
            shown.append(_cue_conflict(rows, also))
        else:
            shown += [
                line(("Shuffled patches", "bold"), f" on {images}, {counted(rows[0]['images'], 'image')}"),
                _shuffled(rows),
            ]
            gathered = [(row, each) for row in rows for each in row["shuffled"]]
            shown += _few(
                [f"  {r['classifier']} on {words.grid(e['grid'])}: {distortion.points(e)}" for r, e in gathered]
            )
        pairs = [pair for pair in summary["comparisons"] if pair["image_set"] == images]
        shown += _few([f"  {_difference(pair)}" for pair in pairs])
        alike = [pair for pair in summary["consistency"] if pair["image_set"] == images]
        if alike:
            shown.append(line("  error consistency κ (1: wrong on the same images, 0: as chance has it):"))
            shown += _few([f"    {_consistency(pair)}" for pair in alike])
        shown += _few([f"    {_people(each)}" for each in summary["people"] if each["image_set"] == images])
        shown.append(line())
    return Group(*shown, _closing(summary["results"], bool(summary["consistency"])))


def _few(lines: Sequence[str]) -> Iterator[RenderableType]:
    yield from (line(each) for each in lines[:MOST])
    if len(lines) > MOST:
        yield line(f"  … and {len(lines) - MOST} more ({EVERYTHING})")


def _cue_conflict(rows: Sequence[Row], also: Sequence[Row]) -> Table:
    table = plain_table("", "answered by shape", "by texture", "shape bias")
    for name, told in [(row["classifier"], row["cue_conflict"]) for row in rows] + [
        (row["name"], row["cue_conflict"]) for row in also
    ]:
        table.add_row(
            name,
            words.shares(told["shape_accuracy"], told["shape_accuracy_interval"]),
            words.shares(told["texture_accuracy"], told["texture_accuracy_interval"]),
            words.shares(told["shape_bias"], told["shape_bias_interval"]),
        )
    return table


def _shuffled(rows: Sequence[Row]) -> Table:
    grids = [words.grid(each["grid"]) for each in rows[0]["shuffled"]]
    table = plain_table("", "untouched", *(f"{head}{grid}" for grid in grids for head in ("", "points lost, ")))
    for row in rows:
        cells = [words.share(row["accuracy_clean"])]
        for each in row["shuffled"]:
            cells += [
                words.shares(each["accuracy"], each["accuracy_interval"]),
                words.points(each["points_lost"], each["points_lost_interval"]),
            ]
        table.add_row(row["classifier"], *cells)
    return table


def _difference(pair: Row) -> str:
    family = f" (simultaneous over {pair['family']} comparisons)" if pair["family"] > 1 else ""
    return (
        f"{words.what(pair)}, {pair['first']} − {pair['second']} in points: "
        f"{words.apart(pair['difference'], pair['interval'])}{family}, {words.larger(pair)}"
    )


def _consistency(pair: Row) -> str:
    value = words.kappa(pair["kappa"], pair["interval"])
    return (
        f"{pair['first']} and {pair['second']}: {value}, both right or both wrong on {words.share(pair['observed'])}"
        f" of {counted(pair['images'], 'image')}, {words.share(pair['expected'])} by chance"
    )


def _people(row: Row) -> str:
    who = "people with one another" if row["decider"] == "people" else f"{row['decider']} with people"
    return f"{who}, mean over {row['people']}: {words.kappa(row['kappa'], row['interval'])}"


def _closing(rows: Sequence[Row], alike: bool) -> RenderableType:
    shuffled = next((row for row in rows if row["shuffled"]), None)
    said = [f"{percent(rows[0]['confidence'])} intervals"]
    if shuffled is not None:
        said.append(f"of accuracies over images ({words.how(shuffled)})")
    if any(row["cue_conflict"] for row in rows):
        said.append(f"by bootstrap over shape images and texture images ({rows[0]['resamples']} draws)")
    elif alike:
        said.append(f"of κ by bootstrap over images ({rows[0]['resamples']} draws)")
    return line(f"{', '.join([' '.join(said[:2]), *said[2:]])}; seed {rows[0]['seed']}.")
