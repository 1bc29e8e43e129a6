"""What sections about layers share: a table with a row per layer, classifiers by their layers, words, and an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa
from matplotlib.axes import Axes

from brittle.report.page.figures import short
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


def share(given: float | None) -> str:
    return "–" if given is None else f"{100 * given:.1f} %"


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


def named_layers(axes: Axes, layers: Sequence[Row]) -> None:
    """Numbers and names of the layers below an axis."""
    axes.set_xticks(range(len(layers)), [f"{each['number']} {short(each['layer'], 20)}" for each in layers])
    axes.tick_params(axis="x", rotation=40)
    for label in axes.get_xticklabels():
        label.set_horizontalalignment("right")
        label.set_rotation_mode("anchor")
