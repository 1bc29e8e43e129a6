"""What sections about layers share: a table with a row per layer, classifiers by their layers, words, and an axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa

from brittle.report.blocks import Axis, category_axis
from brittle.report.page.section import Summary
from brittle.report.page.words import number
from brittle.report.sections.flatten import arrow, flat

Row = Mapping[str, Any]
APART = 0.14  # of the distance between two layers, from one classifier to the next
CLEAR = 0.5  # rank correlation below which nothing is said to rise or fall


def by_images(summary: Summary) -> list[tuple[str, list[Row]]]:
    """Every image set, and its results."""
    return [(images, list(rows)) for images, rows in groupby(summary["results"], lambda row: row["image_set"])]


def with_same_layers(rows: Sequence[Row]) -> list[list[Row]]:
    """Results, put together where classifiers have the same layers."""
    alike: dict[tuple[tuple[int, str], ...], list[Row]] = {}
    for row in rows:
        alike.setdefault(tuple((each["number"], each["layer"]) for each in row["layers"]), []).append(row)
    return list(alike.values())


def layer_table(summary: Summary) -> pa.Table:
    """A row per classifier, image set and layer."""
    return arrow(
        [
            flat({key: value for key, value in row.items() if key != "layers"} | _with_ends(each))
            for row in summary["results"]
            for each in row["layers"]
        ]
    )


def _with_ends(layer: Row) -> dict[str, Any]:
    """Intervals as two values, also where an end is past all that was found."""
    ends: dict[str, Any] = {}
    for key, value in layer.items():
        if key.endswith("_interval") and value is not None:
            stem = key.removesuffix("interval")
            ends |= {f"{stem}low": value[0], f"{stem}high": value[1]}
        else:
            ends[key] = value
    return ends


def which(row: Row, there: int) -> str:
    """all 11 layers; 12 of 60 layers, evenly spaced"""
    if row["chosen"] == "all":
        return f"all {there} layers"
    return f"{len(row['layers'])} of {there} layers, {row['chosen']}"


def moves(correlation: float) -> str:
    """falls (Spearman −0.56)"""
    way = "rises" if correlation > 0 else "falls"
    said = way if abs(correlation) >= CLEAR else "neither clearly rises nor falls"
    return f"{said} (Spearman {number(correlation, 2, '+')})"


def layer_axis(layers: Sequence[Row]) -> Axis:
    """Numbers and names of the layers."""
    return category_axis([layer_name(each) for each in layers], slanted=True)


def layer_name(layer: Row) -> str:
    return f"{layer['number']} {layer['layer']}"


def apart(rows: Sequence[Row], place: int) -> list[float]:
    """Where the layers of one of several classifiers stand on that axis, beside each other."""
    return [at + APART * (place - (len(rows) - 1) / 2) for at in range(len(rows[place]["layers"]))]


def chosen_layers(rows: Sequence[Row], which: Callable[[Row], str]) -> str:
    return "; ".join(f"{row['classifier']}: {which(row)}" for row in rows)


def compared_pairs(summary: Summary) -> list[list[Row]]:
    """The comparisons of two classifiers on an image set, layer by layer."""
    groups = groupby(summary["comparisons"], lambda pair: (pair["first"], pair["second"], pair["image_set"]))
    return [list(pairs) for _, pairs in groups]
