"""The section of the measure `clean`."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.blocks import Block, Column, Group, Sentence, Weighted
from brittle.report.blocks.wording import estimate, plain
from brittle.report.page.section import MeasureRun, Summary, clean_accuracy
from brittle.report.page.words import listed, percent
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection, finding
from brittle.report.sections.grouped import by_set
from brittle.report.sections.tables import WHO, bare, count, estimated, table, text, who

ACCURACY = 0.45  # how much the finding matters
SET, IMAGES = ("image set", text("image_set")), ("images", count("images"))
CONFIDENCE = ("confidence", bare("mean_confidence"))
NOTHING = "no image set has images at scale 0"


@register("clean")
class CleanSection(BaseSection):
    """Accuracy with its interval, and how confident the classifiers are."""

    title = "Clean predictions"

    def brief(self, summary: Summary) -> Sequence[Block]:
        rows = summary["results"]
        if not rows:
            return [Group(self.title, (Sentence(NOTHING),))]
        accuracy = ("accuracy", estimated("accuracy_clean"))
        shown = table(rows, ("", who), SET, IMAGES, accuracy, CONFIDENCE)
        return [Group(self.title, (shown, Sentence(f"{percent(rows[0]['confidence'])} intervals")))]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        rows = run.summary["results"]
        if not rows:
            return [Sentence(f"{NOTHING.capitalize()}.")]
        labelled = any(row["accuracy_clean"] is not None for row in rows)
        above = ": where it exceeds accuracy, a classifier is more certain than it is right" if labelled else ""
        accuracy = (Column("accuracy", "share"), estimated("accuracy_clean"))
        holds = (
            f"{percent(rows[0]['confidence'])} intervals, each holding on its own, for the population that the images "
            "were drawn from."
        )
        return [
            Sentence(
                "What the classifiers say of the untouched images. Confidence is the mean probability of the class "
                f"predicted{above}."
            ),
            table(rows, SET, WHO, IMAGES, accuracy, CONFIDENCE, by=0),
            Sentence(holds if labelled else "The images have no labels, so there is no accuracy.", "note"),
        ]

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        found = []
        for images, rows in by_set(run.summary["results"]).items():
            where = f" on {images}" if run.many_sets else ""
            if all(row["accuracy_clean"] is not None for row in rows):
                each = [f"{row['classifier']} {plain((estimate(row, 'accuracy_clean'),))}" for row in rows]
                said = f"Accuracy on the untouched images{where}: {listed(each, 8)}."
                found.append(finding(said, ACCURACY, clean_accuracy(images)))
        return found
