"""Breaking points on the console: a row per classifier, paired differences, and how the numbers came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from brittle.report.page.words import listed, percent
from brittle.report.sections.breaking_points.words import Row, estimate, how, mean_is, share, unit, value
from brittle.report.sections.legacy import line, plain_table

MOST_PAIRS = 10


def printed(summary: Mapping[str, Any]) -> RenderableType:
    shown: list[RenderableType] = []
    for (images, nuisance), group in groupby(summary["results"], lambda row: (row["image_set"], row["nuisance"])):
        rows = list(group)
        first = rows[0]
        shown += [
            line(
                (nuisance, "bold"), f" on {images}, {first['images']} images: {unit(first)} at which predictions change"
            ),
            _table(rows),
        ]
        pairs = [pair for pair in summary["comparisons"] if (pair["image_set"], pair["nuisance"]) == (images, nuisance)]
        shown += [line(f"  {_difference(first, pair)}") for pair in pairs[:MOST_PAIRS]]
        if len(pairs) > MOST_PAIRS:
            shown.append(line(f"  … and {len(pairs) - MOST_PAIRS} more differences (--json or --out has them all)"))
        shown += [line(f"  {row['classifier']} most often: {_flows(row)}") for row in rows[:4] if row["flows"]]
        shown += [line(f"  {how(first)}"), line()]
    return Group(*shown, _closing(summary["results"]))


def _table(rows: Sequence[Row]) -> Table:
    of_255 = rows[0]["of_255"]
    several = rows[0]["common"] is not None
    columns = ["mean", *(["% of 255"] if of_255 else []), *(["common"] if several else []), "median", "unbroken", "P*"]
    table = plain_table("", "correct", *columns)
    for row in rows:
        cells = [f"{row['correct']}", estimate(row, row["mean"], row["interval"])]
        cells += ["–" if row["percent"] is None else f"{row['percent']:.1f}"] if of_255 else []
        cells += [value(row, row["common"]["mean"])] if several else []
        median = "–" if row["mean"] is None else f"> {row['limit']:g}" if row["median"] is None else None
        cells += [median or value(row, row["median"]), share(row["unbroken"])]
        cells += ["–" if row["p_star"] is None else f"{row['p_star']:.2f}"]
        table.add_row(row["classifier"], *cells)
    return table


def _difference(row: Row, pair: Mapping[str, Any]) -> str:
    if pair["difference"] is None:
        return f"{pair['first']} − {pair['second']}: no image is right for all classifiers"
    better = {"first": pair["first"], "second": pair["second"]}.get(pair["better"])
    family = f" (simultaneous over {pair['family']} comparisons)" if pair["family"] > 1 else ""
    return (
        f"{pair['first']} − {pair['second']}, paired over {pair['images']} images that both get right: "
        f"{estimate(row, pair['difference'], pair['interval'], '+')}{family}, "
        f"{'a tie' if better is None else f'{better} breaks later'}"
    )


def _flows(row: Row) -> str:
    return listed([f"{flow['from']} → {flow['to']} {100 * flow['share']:.0f} %" for flow in row["flows"][:3]])


def _closing(rows: Sequence[Row]) -> RenderableType:
    first = rows[0]
    said = (
        f"{percent(first['confidence'])} intervals over images ({mean_is(first)}), of images classified correctly; "
        f"P*: mean probability of the new label at the break; unbroken: paths that held up to the limit; "
        f"seed {first['seed']}."
    )
    if first["noise"] == "fresh":
        said += " With noise=fresh breaking points fall as the step shrinks: give the step with them."
    return line(said)
