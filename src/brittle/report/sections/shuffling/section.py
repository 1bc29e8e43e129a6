"""The section of the measure `shuffling`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa
from markupsafe import Markup
from rich.console import RenderableType

from brittle.report.page.pictures import EXACT_UP_TO
from brittle.report.page.section import MeasureRun, Summary
from brittle.report.page.words import percent
from brittle.report.sections import register, shares
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.legacy import Finding, LegacySection, Remarks
from brittle.report.sections.references import MARCU_2022
from brittle.report.sections.shares import Row
from brittle.report.sections.shuffling import words
from brittle.report.sections.shuffling.console import printed
from brittle.report.sections.shuffling.figures import shuffled_figure
from brittle.report.sections.shuffling.pictures import strips

LEADS = 0.4  # how much a finding matters
MOST_FINDINGS = 3
MOST_PAIRS = 45
LIMITS = (
    "Accuracy on shuffled patches is not shape bias: patches bring edges of their own, and classifiers of like shape "
    "bias lose very different amounts (Marcu & Prügel-Bennett 2022, tables 1, 2 and 4). Look where the errors go.",
)


@register("shuffling")
class ShufflingSection(LegacySection):
    """What is left of accuracy when patches change places."""

    title = "Shuffled patches"

    def console(self, summary: Summary) -> RenderableType:
        return printed(summary)

    def table(self, summary: Summary) -> pa.Table:
        """A row per classifier, image set and grid."""
        return arrow(
            [
                flat({key: value for key, value in row.items() if key != "shuffled"} | each)
                for row in summary["results"]
                for each in row["shuffled"]
            ]
        )

    def findings(self, run: MeasureRun) -> Sequence[Finding]:
        told = (shares.finding(pair, words.what(pair), LEADS) for pair in run.summary["comparisons"])
        said = [finding for finding in told if finding is not None]
        return said[:MOST_FINDINGS] or [Finding(_alone(row), LEADS) for row in run.summary["results"][:2]]

    def remarks(self, run: MeasureRun) -> Remarks:
        return Remarks(limits=LIMITS, references=(MARCU_2022,))

    def body(self, run: MeasureRun) -> Markup:
        groups = groupby(run.summary["results"], lambda row: row["image_set"])
        parts = [_part(run, place, images, list(rows)) for place, (images, rows) in enumerate(groups)]
        return self.rendered("body.html.j2", run, parts=parts, words=words, shares=shares, percent=percent)


def _alone(row: Row) -> str:
    each = max(row["shuffled"], key=lambda one: one["points_lost"])
    gathered = f", of which {words.top(each)}" if 0 < each["points_to_top"] <= each["points_lost"] else ""
    return (
        f"On {words.grid(each['grid'])} shuffled patches, {row['classifier']} loses {each['points_lost']:.1f} points "
        f"of accuracy{gathered}."
    )


def _part(run: MeasureRun, place: int, images: str, rows: list[Row]) -> dict[str, Any]:
    """Everything of one image set, ready for the template."""
    chosen = run.whole.chosen(images)
    pairs = [pair for pair in run.summary["comparisons"] if pair["image_set"] == images]
    return {
        "images": images,
        "rows": rows,
        "figure": shuffled_figure(run.anchor(f"f{place}"), rows, run.looks),
        "pairs": [pair | {"what": words.what(pair)} for pair in pairs[:MOST_PAIRS]],
        "shown": strips(run, images, [row["classifier"] for row in rows]),
        "small": chosen is not None and max(chosen.images.shape[1:]) <= EXACT_UP_TO,
    }
