"""The section of the measure `error-consistency`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa
from markupsafe import Markup
from rich.console import RenderableType

from brittle.report.page.section import MeasureRun, Summary
from brittle.report.page.words import percent
from brittle.report.sections import register, shares
from brittle.report.sections.error_consistency import words
from brittle.report.sections.error_consistency.console import printed
from brittle.report.sections.error_consistency.figures import kappa_figure
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.legacy import LegacySection, Remarks
from brittle.report.sections.references import GEIRHOS_2020
from brittle.report.sections.shares import Row

MOST_PAIRS = 45
MOST_IN_FIGURE = 40  # deciders in a matrix of κ
LIMITS = ("Error consistency says that errors fall on the same images, not that the wrong answers are the same.",)


@register("error-consistency")
class ErrorConsistencySection(LegacySection):
    """Whose errors are alike."""

    title = "Whose errors are alike"

    def console(self, summary: Summary) -> RenderableType:
        return printed(summary)

    def table(self, summary: Summary) -> pa.Table:
        """A row per pair and image set."""
        return arrow([flat(row) for row in summary["results"]])

    def remarks(self, run: MeasureRun) -> Remarks:
        return Remarks(
            explanation="Error consistency κ: how much more often than by chance two are wrong on the same images.",
            limits=LIMITS,
            references=(GEIRHOS_2020,),
        )

    def body(self, run: MeasureRun) -> Markup:
        groups = groupby(run.summary["results"], lambda row: row["image_set"])
        parts = [_part(run, place, images, list(pairs)) for place, (images, pairs) in enumerate(groups)]
        return self.rendered("body.html.j2", run, parts=parts, words=words, shares=shares, percent=percent)


def _part(run: MeasureRun, place: int, images: str, pairs: Sequence[Row]) -> dict[str, Any]:
    """Everything of one image set, ready for the template."""
    deciders = [each for each in run.summary["deciders"] if each["image_set"] == images]
    return {
        "images": images,
        "deciders": deciders,
        "alike": pairs[:MOST_PAIRS],
        "all_alike": len(pairs),
        "people": [each for each in run.summary["people"] if each["image_set"] == images],
        "matrix": kappa_figure(run.anchor(f"k{place}"), pairs) if 3 <= len(deciders) <= MOST_IN_FIGURE else None,
    }
