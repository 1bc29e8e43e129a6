"""The section of the measure `cue-conflict`."""

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
from brittle.report.sections.cue_conflict.console import SHAPE_BIAS, printed
from brittle.report.sections.cue_conflict.figures import MOST_SHOWN, bias_figure
from brittle.report.sections.cue_conflict.pictures import stimuli
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.legacy import Finding, LegacySection, Remarks
from brittle.report.sections.references import GEIRHOS_2019, OWEN_2007
from brittle.report.sections.shares import Row

LEADS = 0.4  # how much a finding matters
MOST_FINDINGS = 3
MOST_PAIRS = 45
LIMITS = (
    "Shape bias counts only answers that are the shape or the texture; a classifier that is seldom either has one too.",
)


@register("cue-conflict")
class CueConflictSection(LegacySection):
    """What classifiers go by, shape or texture."""

    title = "Shape against texture"

    def console(self, summary: Summary) -> RenderableType:
        return printed(summary)

    def table(self, summary: Summary) -> pa.Table:
        """A row per classifier and image set."""
        rows = summary["results"]
        return arrow([flat({key: value for key, value in row.items() if key != "per_class"}) for row in rows])

    def findings(self, run: MeasureRun) -> Sequence[Finding]:
        told = (shares.finding(pair, SHAPE_BIAS, LEADS) for pair in run.summary["comparisons"])
        said = [finding for finding in told if finding is not None]
        return said[:MOST_FINDINGS] or [Finding(_alone(row), LEADS) for row in run.summary["results"][:2]]

    def remarks(self, run: MeasureRun) -> Remarks:
        return Remarks(
            explanation="Shape bias: of answers that are a stimulus’s shape or texture, the share that is the shape.",
            limits=LIMITS,
            references=(GEIRHOS_2019, OWEN_2007),
        )

    def body(self, run: MeasureRun) -> Markup:
        groups = groupby(run.summary["results"], lambda row: row["image_set"])
        parts = [_part(run, place, images, list(rows)) for place, (images, rows) in enumerate(groups)]
        return self.rendered("body.html.j2", run, parts=parts, shares=shares, percent=percent, most_shown=MOST_SHOWN)


def _alone(row: Row) -> str:
    return (
        f"{row['classifier']} goes by shape in {shares.shares(row['shape_bias'], row['shape_bias_interval'])} of "
        f"its answers that are shape or texture."
    )


def _part(run: MeasureRun, place: int, images: str, rows: list[Row]) -> dict[str, Any]:
    """Everything of one image set, ready for the template."""
    also = [each for each in run.summary["deciders"] if each["image_set"] == images]
    chosen = run.whole.chosen(images)
    pairs = [pair for pair in run.summary["comparisons"] if pair["image_set"] == images]
    return {
        "images": images,
        "rows": rows,
        "also": also,
        "figure": bias_figure(run.anchor(f"f{place}"), rows, also, run.looks),
        "pairs": [pair | {"what": SHAPE_BIAS} for pair in pairs[:MOST_PAIRS]],
        "shown": stimuli(run, images, [row["classifier"] for row in rows]),
        "small": chosen is not None and max(chosen.images.shape[1:]) <= EXACT_UP_TO,
    }
