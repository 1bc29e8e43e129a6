"""The section of the measure `connectedness`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from markupsafe import Markup
from rich.console import RenderableType

from brittle.report.page.pictures import data_uri
from brittle.report.page.section import MeasureRun, Summary
from brittle.report.sections import register
from brittle.report.sections.connectedness import words
from brittle.report.sections.connectedness.console import printed
from brittle.report.sections.connectedness.figures import bubble_figure
from brittle.report.sections.connectedness.films import films
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.legacy import Finding, LegacySection, Remarks
from brittle.report.sections.references import UREM, WAUDBY_SMITH_2023

LEADS = 0.35  # how much a finding matters
MOST_CLASSES = 40  # in the figure
LIMITS = (
    "Unknown is not disconnected: a path that was not found may exist, so the number of bubbles is an upper bound.",
    "In high dimension straight segments connect nearly everything of a class: that its images lie in one bubble says "
    "little about how far its border is, and nothing about whether the bubble holds only images of the class.",
    "Paths are checked at many points, not everywhere: a thinner gap than their spacing may be missed.",
    "A path leads through pictures that need not look like anything of the class.",
)


@register("connectedness")
class ConnectednessSection(LegacySection):
    """Which images of a class lie in one region that the classifier gives that class."""

    title = "Connectedness"

    def console(self, summary: Summary) -> RenderableType:
        return printed(summary)

    def table(self, summary: Summary) -> pa.Table:
        """A row per classifier, image set and class."""
        return arrow([flat({k: v for k, v in row.items() if k != "components"}) for row in summary["classes"]])

    def findings(self, run: MeasureRun) -> Sequence[Finding]:
        return [
            Finding(
                f"{row['classifier']} gives {row['in_one_bubble']} of {row['measured_classes']} classes in one piece, "
                f"judging by {row['right']} images that it gets right ({words.bubbles(row)} in all); "
                f"{words.straight(row)}.",
                LEADS,
            )
            for row in run.summary["results"][:2]
        ]

    def remarks(self, run: MeasureRun) -> Remarks:
        return Remarks(
            explanation="A bubble is a region that the classifier gives one class; images are in the same one if a "
            "path connects them without leaving it.",
            limits=LIMITS,
            citing="how many images of each class, and that unknown pairs count as separate",
            references=(UREM, WAUDBY_SMITH_2023),
        )

    def body(self, run: MeasureRun) -> Markup:
        parts = [_part(run, place, row) for place, row in enumerate(run.summary["results"])]
        return self.rendered("body.html.j2", run, parts=parts, words=words, uri=data_uri)


def classes_of(run: MeasureRun, row: words.Row) -> list[words.Row]:
    """What is said of each class of one classifier and image set."""
    names = ("classifier", "image_set")
    return [each for each in run.summary["classes"] if all(each[name] == row[name] for name in names)]


def _part(run: MeasureRun, place: int, row: words.Row) -> dict[str, Any]:
    """Everything of one classifier on one image set, ready for the template."""
    classes = classes_of(run, row)
    key = run.anchor(f"c{place}")
    return {
        "row": row,
        "classes": classes,
        "figure": bubble_figure(key, classes[:MOST_CLASSES], run.looks[row["classifier"]]),
        "more": max(0, len(classes) - MOST_CLASSES),
        "films": films(run, row["classifier"], row["image_set"]),
    }
