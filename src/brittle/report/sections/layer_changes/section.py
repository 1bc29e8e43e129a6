"""The section of the measure `layer-changes`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from markupsafe import Markup
from rich.console import RenderableType

from brittle.report.page.section import MeasureRun, Summary
from brittle.report.page.words import percent
from brittle.report.sections import register
from brittle.report.sections.layer_changes import words
from brittle.report.sections.layer_changes.console import printed
from brittle.report.sections.layer_changes.figures import changes_figure
from brittle.report.sections.layered import Row, by_images, layer_table, share, with_same_layers
from brittle.report.sections.legacy import Finding, LegacySection, Remarks
from brittle.report.sections.references import UREM

LEADS = 0.4  # how much findings matter
MOST_FINDINGS = 3
LIMITS = (
    "Sizes are upper bounds on the smallest change: Adam minimises cross-entropy, not the size.",
    "Nobody can change what a layer gives without changing the network: only the input is open to whoever hands in "
    "images. The other layers say where a change does most, and no attack on them is proposed.",
    "A size relative to a layer’s root mean square compares layers by one yardstick among several: numbers that are "
    "almost always near zero, as after a ReLU, make a layer’s root mean square small beside its greatest values.",
)


@register("layer-changes")
class LayerChangesSection(LegacySection):
    """How far what each layer gives must be changed for a target to be predicted."""

    title = "Targeted changes of layers"

    def console(self, summary: Summary) -> RenderableType:
        return printed(summary)

    def table(self, summary: Summary) -> pa.Table:
        return layer_table(summary)

    def findings(self, run: MeasureRun) -> Sequence[Finding]:
        return [Finding(words.extremes(row), LEADS) for row in run.summary["results"][:MOST_FINDINGS]]

    def remarks(self, run: MeasureRun) -> Remarks:
        first = run.summary["results"][0]
        return Remarks(
            explanation="rms is the root mean square of what a layer gives of an image.",
            limits=LIMITS,
            citing=f"the probability to reach ({first['share']:g}), Adam’s step ({first['rate']:g}) and steps "
            f"({first['steps']})",
            references=(UREM,),
        )

    def body(self, run: MeasureRun) -> Markup:
        parts = [_part(run, images, rows, place) for place, (images, rows) in enumerate(by_images(run.summary))]
        first = run.summary["results"][0]
        return self.rendered("body.html.j2", run, parts=parts, words=words, share=share, percent=percent, first=first)


def _part(run: MeasureRun, images: str, rows: list[Row], place: int) -> dict[str, Any]:
    """One image set: a figure for every group of classifiers with the same layers."""
    return {
        "images": images,
        "rows": rows,
        "figures": [
            (group, changes_figure(run.anchor(f"layers{place}-{number}"), group, run.looks))
            for number, group in enumerate(with_same_layers(rows))
        ],
        "pairs": [pair for pair in run.summary["comparisons"] if pair["image_set"] == images],
    }
