"""The section of the measure `breaking-points`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa
from markupsafe import Markup
from rich.console import RenderableType

from brittle.report.page.pictures import EXACT_UP_TO, data_uri
from brittle.report.page.section import MeasureRun, Summary, compared
from brittle.report.page.words import percent
from brittle.report.sections import register
from brittle.report.sections.breaking_points import words
from brittle.report.sections.breaking_points.console import printed
from brittle.report.sections.breaking_points.figures import survival_figure
from brittle.report.sections.breaking_points.pictures import strips
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.legacy import Finding, LegacySection, Remarks
from brittle.report.sections.references import CLOPPER_PEARSON_1934, UREM, WAUDBY_SMITH_2023

LEADS = 0.45  # how much a finding matters
MOST_FINDINGS = 3
MOST_PAIRS = 45  # past this many, differences are shown against the classifier that breaks last
MOST_CURVES = 8
LIMITS = (
    "A breaking point says when the prediction first changes along one path, not how often it is wrong at a severity; "
    "predictions may come back further along.",
    "Noise that is independent from pixel to pixel is a mild, unspecific change in high dimension: a high breaking "
    "point promises nothing about chosen changes.",
    "Numbers for different image sizes, steps or ways of drawing noise can't be compared.",
)


@register("breaking-points")
class BreakingPointsSection(LegacySection):
    """How far severity rises before predictions change, and what that looks like."""

    title = "Breaking points"

    def console(self, summary: Summary) -> RenderableType:
        return printed(summary)

    def table(self, summary: Summary) -> pa.Table:
        """A row per classifier, image set and nuisance."""
        return arrow([flat({k: v for k, v in row.items() if k not in DETAILS}) for row in summary["results"]])

    def findings(self, run: MeasureRun) -> Sequence[Finding]:
        said = []
        for pair in run.summary["comparisons"]:
            row = next(each for each in run.summary["results"] if each["classifier"] == pair["first"])
            names = {"first": (pair["first"], pair["second"]), "second": (pair["second"], pair["first"])}
            if pair["better"] in names:
                later, sooner = names[pair["better"]]
                text = (
                    f"{later} breaks later than {sooner} under {pair['nuisance']}: by "
                    f"{words.value(row, abs(pair['difference']))} ({words.unit(row)}; {percent(pair['confidence'])} "
                    f"interval of the difference {words.estimate(row, pair['difference'], pair['interval'], '+')})."
                )
                said.append(Finding(text, LEADS, compared(pair["image_set"], later, sooner)))
        return said[:MOST_FINDINGS] or [
            Finding(_alone(row), LEADS) for row in run.summary["results"][:2] if row["mean"] is not None
        ]

    def remarks(self, run: MeasureRun) -> Remarks:
        first = run.summary["results"][0]
        return Remarks(
            explanation="A breaking point is the severity at which the prediction leaves the clean prediction.",
            limits=LIMITS,
            citing=f"how θ is drawn ({first['noise']}), the step ({first['step']:g}), the limit ({first['limit']:g})",
            references=(UREM, CLOPPER_PEARSON_1934, WAUDBY_SMITH_2023),
        )

    def body(self, run: MeasureRun) -> Markup:
        parts = [
            _part(run, place, list(rows)) for place, (_, rows) in enumerate(groupby(run.summary["results"], _cell))
        ]
        return self.rendered(
            "body.html.j2", run, parts=parts, words=words, uri=data_uri, first=run.summary["results"][0]
        )


DETAILS = ("flows", "survival")


def _cell(row: words.Row) -> tuple[str, str]:
    return row["image_set"], row["nuisance"]


def _spread(rows: list[words.Row]) -> list[words.Row]:
    """As many classifiers as a figure can show, from the one that breaks last to the one that breaks first."""
    if len(rows) <= MOST_CURVES:
        return rows
    order = sorted(rows, key=lambda row: -(row["mean"] or 0.0))
    return [order[place * (len(order) - 1) // (MOST_CURVES - 1)] for place in range(MOST_CURVES)]


def _alone(row: words.Row) -> str:
    return (
        f"Under {row['nuisance']}, {row['classifier']} breaks at {words.value(row, row['mean'])} on average "
        f"({words.unit(row)}; {words.mean_is(row)})."
    )


def _part(run: MeasureRun, place: int, rows: list[words.Row]) -> dict[str, Any]:
    """Everything of one image set under one nuisance, ready for the template."""
    images, nuisance = _cell(rows[0])
    shown = strips(run, images, nuisance, [row["classifier"] for row in rows])
    chosen = run.whole.chosen(images)
    pairs = [pair for pair in run.summary["comparisons"] if _cell(pair) == (images, nuisance)]
    best = max(rows, key=lambda row: (row["common"] or row)["mean"] or 0.0)["classifier"]
    cut = len(pairs) > MOST_PAIRS
    return {
        "images": images,
        "nuisance": nuisance,
        "rows": rows,
        "pairs": [pair for pair in pairs if best in (pair["first"], pair["second"])] if cut else pairs,
        "cut": best if cut else "",
        "figure": survival_figure(run.anchor(f"b{place}"), _spread(rows), run.looks),
        "shown": shown,
        "small": chosen is not None and max(chosen.images.shape[1:]) <= EXACT_UP_TO,
    }
