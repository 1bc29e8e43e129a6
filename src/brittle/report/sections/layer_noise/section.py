"""The section of the measure `layer-noise`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from markupsafe import Markup
from rich.console import RenderableType

from brittle.report.page.section import MeasureRun, Summary
from brittle.report.page.words import percent
from brittle.report.sections import register
from brittle.report.sections.layer_noise import words
from brittle.report.sections.layer_noise.console import printed
from brittle.report.sections.layer_noise.figures import depth_figure, layer_figure
from brittle.report.sections.layered import Row, by_images, layer_table, share, with_same_layers
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


@register("layer-noise")
class LayerNoiseSection(LegacySection):
    """How much noise each layer takes, and the weights."""

    title = "Noise on layers"

    def console(self, summary: Summary) -> RenderableType:
        return printed(summary)

    def table(self, summary: Summary) -> pa.Table:
        return layer_table(summary)

    def findings(self, run: MeasureRun) -> Sequence[Finding]:
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
        return Remarks(
            explanation="σ* is the standard deviation of multiplicative noise N(1, σ²) on a layer at which the "
            "prediction first changes, and P* the probability of the label that it changes to.",
            limits=LIMITS,
            citing=f"how noise is drawn ({first['noise']}), the step of σ ({first['step']:g}), its limit "
            f"({first['limit']:g})",
            references=(UREM, WAUDBY_SMITH_2023),
        )

    def body(self, run: MeasureRun) -> Markup:
        parts = [_part(run, images, rows, place) for place, (images, rows) in enumerate(by_images(run.summary))]
        first = run.summary["results"][0]
        return self.rendered("body.html.j2", run, parts=parts, words=words, share=share, percent=percent, first=first)


def _known(row: Row) -> list[Row]:
    return [each for each in row["layers"] if each["mean"] is not None]


def _extremes(row: Row) -> str:
    by_mean = sorted(_known(row), key=lambda each: float(each["mean"]))
    least, most = by_mean[0], by_mean[-1]

    def told(each: Row) -> str:
        where = "the weights" if words.is_weights(row, each) else f"the layer {each['layer']}"
        return f"{where} (mean σ* {words.estimate(each['mean'], each['interval'])})"

    if least is most:
        return f"Noise changes {row['classifier']}’s predictions on {told(least)}."
    return f"Noise changes {row['classifier']}’s predictions soonest on {told(least)} and latest on {told(most)}."


def _part(run: MeasureRun, images: str, rows: list[Row], place: int) -> dict[str, Any]:
    """One image set: a figure for every group of classifiers with the same layers."""
    alike = with_same_layers(rows)
    return {
        "images": images,
        "rows": rows,
        "figures": [
            (group, layer_figure(run.anchor(f"layers{place}-{number}"), group, run.looks))
            for number, group in enumerate(alike)
        ],
        "depth": depth_figure(run.anchor(f"depth{place}"), rows, run.looks) if len(alike) > 1 else None,
        "pairs": [pair for pair in run.summary["comparisons"] if pair["image_set"] == images],
    }
