"""Targeted changes of layers: what is printed of them, their figure and their findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure
from rich.console import Group, RenderableType
from rich.table import Table

from brittle.report.page.colours import Look
from brittle.report.page.figures import WIDTH, svg
from brittle.report.page.words import counted, number, percent
from brittle.report.sections.layers.figures import APART, named_layers
from brittle.report.sections.layers.words import Row, moves, share, which
from brittle.report.sections.legacy import line, plain_table


def size(value: float | None, bounds: Sequence[float | None] | None = None) -> str:
    """0.18 [0.16, 0.19]; what lies among the failures is ∞."""
    if bounds is None:
        return number(value, 2)
    middle, low, high = ("∞" if each is None else number(each, 2) for each in (value, *bounds))
    return f"{middle} [{low}, {high}]"


def how(row: Row) -> str:
    """Adam until p(target) ≥ 0.9, 1 target per image drawn by the seed, steps of 0.02 rms, failed after 300"""
    return (
        f"Adam until p(target) ≥ {row['share']:g}; {counted(row['targets'], 'target')} per image, drawn by the seed; "
        f"steps of {row['rate']:g} of the layer’s root mean square, failed after {row['steps']}; not clipped"
    )


def trend(row: Row) -> str:
    found = row["depth_correlation"]
    if found is None:
        return ""
    return f"the relative size {moves(found['relative'])} from input to output"


def printed_changes(summary: Mapping[str, Any]) -> RenderableType:
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


def changes_figure(key: str, rows: Sequence[Row], looks: Mapping[str, Look]) -> Markup:
    """Relative size against layer, one curve per classifier."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        layers = rows[0]["layers"]
        for place, row in enumerate(rows):
            look, shift = looks[row["classifier"]], APART * (place - (len(rows) - 1) / 2)
            known = [(at + shift, each) for at, each in enumerate(row["layers"]) if each["relative"] is not None]
            at, middle = [x for x, _ in known], [each["relative"] for _, each in known]
            axes.plot(at, middle, look.marker, color=look.colour, linestyle=look.dashes, linewidth=1.2, markersize=5)
            for x, each in known:
                low, high = each["relative_interval"]
                ends = [low, each["relative"] if high is None else high]
                axes.plot([x, x], ends, color=look.colour, linewidth=4, alpha=0.35, solid_capstyle="butt")
        axes.set_ylim(bottom=0)
        axes.set_ylabel("change of the layer, relative to its rms")
        named_layers(axes, layers)
        axes.grid(axis="y")
        axes.set_axisbelow(True)

    names = ", ".join(row["classifier"] for row in rows)
    return svg(key, (WIDTH, 3.8), f"size of targeted changes of each layer of {names}, relative to what it gives", draw)


def extremes(row: Row) -> str:
    known = sorted((each for each in row["layers"] if each["relative"] is not None), key=lambda each: each["relative"])
    if not known:
        return f"No layer of {row['classifier']} could be changed so that targets are predicted on half of the images."
    least, most = known[0], known[-1]
    said = f"the layer {least['layer']} ({size(least['relative'], least['relative_interval'])} of its rms)"
    if least is most:
        return f"A targeted change of {said} makes {row['classifier']} predict a target."
    return (
        f"The smallest targeted changes of {row['classifier']} are those of {said}, the largest those of the layer "
        f"{most['layer']} ({size(most['relative'], most['relative_interval'])})."
    )
