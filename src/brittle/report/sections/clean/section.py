"""The section of the measure `clean`."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from rich.console import Group, RenderableType

from brittle.report.page.section import Finding, MeasureRun, Summary, clean_accuracy
from brittle.report.page.words import estimate, listed, number, percent
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection, line, plain_table

ACCURACY = 0.45  # how much the finding matters
NOTHING = "no image set has images at scale 0"


@register("clean")
class CleanSection(BaseSection):
    """Accuracy with its interval, and how confident the classifiers are."""

    title = "Clean predictions"

    def console(self, summary: Summary) -> RenderableType:
        rows = summary["results"]
        if not rows:
            return line((self.title, "bold"), f": {NOTHING}")
        table = plain_table("", "image set", "images", "accuracy", "confidence", folds=2)
        for row in rows:
            table.add_row(
                row["classifier"],
                row["image_set"],
                str(row["images"]),
                estimate(row["accuracy_clean"], row["accuracy_clean_interval"]),
                number(row["mean_confidence"]),
            )
        level = percent(rows[0]["confidence"])
        return Group(line((self.title, "bold")), table, line(f"  {level} intervals"))

    def findings(self, run: MeasureRun) -> Sequence[Finding]:
        found = []
        for images in dict.fromkeys(row["image_set"] for row in run.summary["results"]):
            rows = [row for row in run.summary["results"] if row["image_set"] == images]
            where = f" on {images}" if run.many_sets else ""
            if all(row["accuracy_clean"] is not None for row in rows):
                each = [
                    f"{row['classifier']} {estimate(row['accuracy_clean'], row['accuracy_clean_interval'])}"
                    for row in rows
                ]
                found.append(
                    Finding(
                        f"Accuracy on the untouched images{where}: {listed(each, 8)}.", ACCURACY, clean_accuracy(images)
                    )
                )
        return found

    def body(self, run: MeasureRun) -> Markup:
        rows = run.summary["results"]
        if not rows:
            return Markup("<p>{}.</p>").format(NOTHING.capitalize())
        return self.rendered("body.html.j2", run, rows=rows, percent=percent(rows[0]["confidence"]))
