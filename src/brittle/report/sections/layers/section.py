"""The section of the measure `layers`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa
from markupsafe import Markup
from rich.console import RenderableType

from brittle.report.page.section import MeasureRun, Summary
from brittle.report.page.words import percent
from brittle.report.sections import register
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.layers import targeted, words
from brittle.report.sections.layers.console import printed
from brittle.report.sections.layers.figures import depth_figure, layer_figure
from brittle.report.sections.layers.targeted import changes_figure, printed_changes
from brittle.report.sections.legacy import Finding, LegacySection, Remarks
from brittle.report.sections.references import UREM, WAUDBY_SMITH_2023

LEADS, DIFFERS = 0.4, 0.42  # how much findings matter
MOST_FINDINGS = 3
LIMITS = (
    "Noise on a layer is random: it says nothing of changes that are chosen to mislead. UREM’s conclusion that layers "
    "near the input are “more resilient to targeted attacks” is drawn from this random experiment.",
    "σ is relative to what a layer gives, number by number: zeros stay zeros, so a layer after a ReLU or with sparse "
    "activations takes less noise at the same σ, and a bias of the next layer none. σ* of different layers, and of "
    "networks with different layers, are not on one scale.",
    "Noise on a layer is no fault that is likely to happen; it locates sensitivity, and is no estimate of a failure "
    "rate.",
)
TARGETED_LIMITS = (
    "Sizes are upper bounds on the smallest change: Adam minimises cross-entropy, not the size.",
    "Nobody can change what a layer gives without changing the network: only the input is open to whoever hands in "
    "images. The other layers say where a change does most, and no attack on them is proposed.",
    "A size relative to a layer’s root mean square compares layers by one yardstick among several: numbers that are "
    "almost always near zero, as after a ReLU, make a layer’s root mean square small beside its greatest values.",
)


@register("layers")
class LayersSection(LegacySection):
    """How much noise each layer takes, and the weights."""

    title = "Layers"

    def console(self, summary: Summary) -> RenderableType:
        return printed_changes(summary) if _targeted(summary) else printed(summary)

    def table(self, summary: Summary) -> pa.Table:
        """A row per classifier, image set and layer."""
        return arrow(
            [
                flat({key: value for key, value in row.items() if key != "layers"} | _with_ends(each))
                for row in summary["results"]
                for each in row["layers"]
            ]
        )

    def findings(self, run: MeasureRun) -> Sequence[Finding]:
        if _targeted(run.summary):
            return [Finding(targeted.extremes(row), LEADS) for row in run.summary["results"][:MOST_FINDINGS]]
        said = [Finding(_extremes(row), LEADS) for row in run.summary["results"] if _known(row)]
        for pair in run.summary["comparisons"]:
            if pair["better"] != "tie":
                names = pair["first"], pair["second"]
                later, sooner = names if pair["better"] == "first" else names[::-1]
                text = (
                    f"{later} takes more noise on the layer {pair['layer']} than {sooner}: paired difference of σ* "
                    f"{words.estimate(pair['difference'], pair['interval'], '+')}, {percent(pair['confidence'])} "
                    f"interval for all {pair['family']} comparisons at once."
                )
                said.append(Finding(text, DIFFERS * abs(pair["difference"]) / (1 + abs(pair["difference"]))))
        return sorted(said, key=lambda each: -each.weight)[:MOST_FINDINGS]

    def remarks(self, run: MeasureRun) -> Remarks:
        first = run.summary["results"][0]
        if _targeted(run.summary):
            return Remarks(
                explanation="rms is the root mean square of what a layer gives of an image.",
                limits=TARGETED_LIMITS,
                citing=f"the probability to reach ({first['share']:g}), Adam’s step ({first['rate']:g}) and steps "
                f"({first['steps']})",
                references=(UREM,),
            )
        return Remarks(
            explanation="σ* is the standard deviation of multiplicative noise N(1, σ²) on a layer at which the "
            "prediction first changes, and P* the probability of the label that it changes to.",
            limits=LIMITS,
            citing=f"how noise is drawn ({first['noise']}), the step of σ ({first['step']:g}), its limit "
            f"({first['limit']:g})",
            references=(UREM, WAUDBY_SMITH_2023),
        )

    def body(self, run: MeasureRun) -> Markup:
        parts = [
            _part(run, images, list(rows), place)
            for place, (images, rows) in enumerate(groupby(run.summary["results"], lambda row: row["image_set"]))
        ]
        template = "targeted.html.j2" if _targeted(run.summary) else "body.html.j2"
        first = run.summary["results"][0]
        return self.rendered(template, run, parts=parts, words=words, targeted=targeted, percent=percent, first=first)


def _with_ends(layer: words.Row) -> dict[str, Any]:
    """Intervals as two values, also where an end is past all that was found."""
    ends: dict[str, Any] = {}
    for key, value in layer.items():
        if key.endswith("_interval") and value is not None:
            stem = key.removesuffix("interval")
            ends |= {f"{stem}low": value[0], f"{stem}high": value[1]}
        else:
            ends[key] = value
    return ends


def _targeted(summary: Summary) -> bool:
    return bool(summary["results"][0]["attack"] == "targeted")


def _known(row: words.Row) -> list[words.Row]:
    return [each for each in row["layers"] if each["mean"] is not None]


def _extremes(row: words.Row) -> str:
    by_mean = sorted(_known(row), key=lambda each: float(each["mean"]))
    least, most = by_mean[0], by_mean[-1]

    def told(each: words.Row) -> str:
        where = "the weights" if words.is_weights(row, each) else f"the layer {each['layer']}"
        return f"{where} (mean σ* {words.estimate(each['mean'], each['interval'])})"

    if least is most:
        return f"Noise changes {row['classifier']}’s predictions on {told(least)}."
    return f"Noise changes {row['classifier']}’s predictions soonest on {told(least)} and latest on {told(most)}."


def _part(run: MeasureRun, images: str, rows: list[words.Row], place: int) -> dict[str, Any]:
    """One image set: a figure for every group of classifiers with the same layers."""
    alike: dict[tuple[tuple[int, str], ...], list[words.Row]] = {}
    for row in rows:
        alike.setdefault(tuple((each["number"], each["layer"]) for each in row["layers"]), []).append(row)
    attacked = _targeted(run.summary)
    figure = changes_figure if attacked else layer_figure
    figures = [
        figure(run.anchor(f"layers{place}-{number}"), group, run.looks) for number, group in enumerate(alike.values())
    ]
    pairs = [pair for pair in run.summary["comparisons"] if pair["image_set"] == images]
    return {
        "images": images,
        "rows": rows,
        "figures": list(zip(alike.values(), figures, strict=True)),
        "depth": depth_figure(run.anchor(f"depth{place}"), rows, run.looks)
        if len(alike) > 1 and not attacked
        else None,
        "pairs": pairs,
    }
