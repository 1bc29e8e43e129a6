"""Noise on layers on the console: a row per layer, paired differences, and how the numbers came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from brittle.report.page.words import number, percent
from brittle.report.sections.layer_noise.words import estimate, how, median, repeats, trend, which
from brittle.report.sections.layered import Row, share
from brittle.report.sections.legacy import line, plain_table

MOST_PAIRS = 12  # layers of which differences are printed


def printed(summary: Mapping[str, Any]) -> RenderableType:
    shown: list[RenderableType] = []
    for row in summary["results"]:
        shown += [
            line(
                (row["classifier"], "bold"),
                f" on {row['image_set']}, {row['correct']} of {row['images']} images correct: "
                "σ of noise N(1, σ²) on a layer at which predictions change",
            ),
            _table(row),
        ]
        shown += [line(f"  {said}") for said in (trend(row), which(row)) if said]
        shown.append(line())
    for (first, second, images), group in groupby(summary["comparisons"], _pair):
        pairs = list(group)
        said = f"{first} − {second} on {images}, paired over {pairs[0]['images']} images that both get right"
        together = f", simultaneous over {pairs[0]['family']} comparisons" if pairs[0]["family"] > 1 else ""
        shown += [line(f"{said}{together}"), _differences(pairs), line()]
    return Group(*shown, _closing(summary["results"]))


def _pair(pair: Mapping[str, Any]) -> tuple[str, str, str]:
    return pair["first"], pair["second"], pair["image_set"]


def _table(row: Row) -> Table:
    several = any(each["common"] is not None for each in row["layers"])
    table = plain_table("", "layer", "mean σ*", "spread", "median", "unchanged", "P*", *["common"] * several, folds=2)
    for each in row["layers"]:
        cells = [str(each["number"]), each["layer"], estimate(each["mean"], each["interval"])]
        cells += [number(each["spread"], 2), median(row, each), share(each["unbroken"]), number(each["p_star"], 2)]
        table.add_row(*cells, *([number(each["common"]["mean"], 2)] if several else []))
    return table


def _differences(pairs: Sequence[Mapping[str, Any]]) -> Table:
    table = plain_table("", "difference of mean σ*", "changes later")
    told = [pair for pair in pairs if pair["better"] != "tie"]
    for pair in pairs if len(pairs) <= MOST_PAIRS else told[:MOST_PAIRS]:
        better = {"first": pair["first"], "second": pair["second"]}.get(pair["better"], "tie")
        table.add_row(pair["layer"], estimate(pair["difference"], pair["interval"], "+"), better)
    return table


def _closing(rows: Sequence[Row]) -> RenderableType:
    first = rows[0]
    said = (
        f"{how(first)}; {repeats(first)}. Means of min(σ*, {first['limit']:g}) over images classified correctly, with "
        f"{percent(first['confidence'])} intervals over images, and for the weights over noisy networks; "
        f"unchanged: paths that held up to the limit; P*: mean probability of the new label; seed {first['seed']}."
    )
    if first["noise"] == "fresh":
        said += " With noise=fresh σ* falls as the step shrinks: give the step with it."
    return line(said)
