"""Failure points on the console: a row per classifier, accuracy at each severity, paired differences, pooled drops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from brittle.report.page.fewer import some_of
from brittle.report.page.words import listed, percent
from brittle.report.sections.failure_points import words
from brittle.report.sections.failure_points.words import Row
from brittle.report.sections.legacy import EVERYTHING, line, plain_table

MOST_PAIRS, MOST_COLUMNS = 10, 8


def printed(summary: Mapping[str, Any]) -> RenderableType:
    shown: list[RenderableType] = []
    for (images, nuisance), group in groupby(summary["results"], lambda row: (row["image_set"], row["nuisance"])):
        rows = list(group)
        first = rows[0]
        chosen = some_of([row["classifier"] for row in rows], {row["classifier"]: row["mean"] or 0.0 for row in rows})
        some = [row for row in rows if row["classifier"] in chosen]
        shown += [
            line((nuisance, "bold"), f" on {images}, {first['images']} images: where predictions become wrong"),
            _table(rows),
            line(f"  {'accuracy' if first['only'] is None else 'share failed'} at each {first['unit']}:"),
            _curves(some),
        ]
        if len(rows) > len(some):
            shown.append(line(f"  … and {len(rows) - len(some)} more classifiers ({EVERYTHING})"))
        pairs = [pair for pair in summary["comparisons"] if (pair["image_set"], pair["nuisance"]) == (images, nuisance)]
        shown += [line(f"  {_difference(first, pair)}") for pair in pairs[:MOST_PAIRS]]
        if len(pairs) > MOST_PAIRS:
            shown.append(line(f"  … and {len(pairs) - MOST_PAIRS} more differences ({EVERYTHING})"))
        shown += [line(f"  {row['classifier']}: {said}") for row in rows[:4] if (said := _aside(row))]
        shown += [line(f"  {words.how(first)}"), line()]
    shown += [line(f"  {_pooled(each)}") for each in summary["pooled"][:MOST_PAIRS]]
    return Group(*shown, _closing(summary["results"]))


def _table(rows: Sequence[Row]) -> Table:
    refined, origin = rows[0]["refined"] is not None, ["right at 0"] if words.origin(rows[0]) else []
    table = plain_table("", *origin, "mean", *(["narrowed"] if refined else []), "median", "never", "recovered")
    for row in rows:
        cells = [f"{row['correct']}" for _ in origin] + [words.estimate(row, row["mean"], row["mean_interval"])]
        cells += [words.value(row, row["refined"]["mean"])] if refined else []
        cells += [words.median(row), words.share(row["never"], row["never_interval"])]
        cells += ["–" if row["recovered"] is None else f"{row['recovered']}"]
        table.add_row(row["classifier"], *cells)
    return table


def _curves(rows: Sequence[Row]) -> Table:
    """Accuracy per severity; of a long grid some columns."""
    whole = rows[0]["only"] is None
    drops = whole and words.origin(rows[0])
    count = len(rows[0]["severities"])
    wanted = min(count, MOST_COLUMNS)
    places = [place * (count - 1) // max(1, wanted - 1) for place in range(wanted)]
    values = [rows[0]["severities"][place]["value"] for place in places]
    table = plain_table("", *(f"{value:g}" for value in values), *(["mean drop"] if drops else []))
    for row in rows:
        entries = [row["severities"][place] for place in places]
        key = "accuracy" if whole else "failed"
        cells = ["–" if entry[key] is None else f"{entry[key]:.3f}" for entry in entries]
        table.add_row(row["classifier"], *cells, *([words.points(mean_drop(row))] if drops else []))
    return table


def mean_drop(row: Row) -> float | None:
    """Over the severities above 0."""
    drops = [entry["drop"] for entry in row["severities"] if entry["value"] > 0]
    return None if not drops or None in drops else sum(drops) / len(drops)


def _difference(row: Row, pair: Mapping[str, Any]) -> str:
    if pair["difference"] is None:
        return f"{pair['first']} − {pair['second']}: no image is right for all classifiers"
    better = {"first": pair["first"], "second": pair["second"]}.get(pair["better"])
    family = f" (simultaneous over {pair['family']} comparisons)" if pair["family"] > 1 else ""
    return (
        f"{pair['first']} − {pair['second']}, paired over {words.common(row, pair['images'])}: "
        f"{words.estimate(row, pair['difference'], pair['interval'], '+')}{family}, "
        f"{'a tie' if better is None else f'{better} fails later'}"
    )


def _aside(row: Row) -> str:
    sink, said = words.sink(row), []
    if sink is not None:
        said.append(f"failures most often fall into {sink.label} ({words.share(sink.share)} of {sink.failures})")
    if row["calls_saved"]:
        said.append(words.saved(row))
    return "; ".join(said)


def _pooled(each: Mapping[str, Any]) -> str:
    return (
        f"{each['classifier']} on {each['image_set']}, over images with {listed(each['nuisances'])} pooled: mean drop "
        f"{words.points(each['drop'], each['drop_interval'])} points"
    )


def _closing(rows: Sequence[Row]) -> RenderableType:
    first = rows[0]
    shown = any(words.origin(row) and row["only"] is None for row in rows)
    drop = "drop: accuracy at 0 minus accuracy there, in points; " if shown else ""
    return line(
        f"{percent(first['confidence'])} intervals over images. mean: {words.mean_is(first)}, {words.over(first)}; "
        f"never: right at every severity; recovered: wrong, then right further along; {drop}seed {first['seed']}."
    )
