"""The section of the measure `clean`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from brittle.report.blocks import Block, ClassifierName, Column, Count, Estimate, Group, Sentence, Table, Weighted
from brittle.report.blocks.wording import estimate, plain
from brittle.report.page.section import MeasureRun, Summary, clean_accuracy
from brittle.report.page.words import listed, percent
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection

ACCURACY = 0.45  # how much the finding matters
NOTHING = "no image set has images at scale 0"


@register("clean")
class CleanSection(BaseSection):
    """Accuracy with its interval, and how confident the classifiers are."""

    title = "Clean predictions"

    def brief(self, summary: Summary) -> Sequence[Block]:
        rows = summary["results"]
        if not rows:
            return [Group(self.title, (Sentence(NOTHING),))]
        table = Table(
            ("", "image set", "images", "accuracy", "confidence"),
            tuple((ClassifierName(row["classifier"]), row["image_set"], *_numbers(row)) for row in rows),
        )
        return [Group(self.title, (table, Sentence(f"{percent(rows[0]['confidence'])} intervals")))]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        rows = run.summary["results"]
        if not rows:
            return [Sentence(f"{NOTHING.capitalize()}.")]
        labelled = any(row["accuracy_clean"] is not None for row in rows)
        above = ": where it exceeds accuracy, a classifier is more certain than it is right" if labelled else ""
        table = Table(
            ("image set", "classifier", "images", Column("accuracy", "share"), "confidence"),
            tuple((row["image_set"], ClassifierName(row["classifier"]), *_numbers(row)) for row in rows),
            by=0,
        )
        holds = (
            f"{percent(rows[0]['confidence'])} intervals, each holding on its own, for the population that the images "
            "were drawn from."
        )
        return [
            Sentence(
                "What the classifiers say of the untouched images. Confidence is the mean probability of the class "
                f"predicted{above}."
            ),
            table,
            Sentence(holds if labelled else "The images have no labels, so there is no accuracy.", "note"),
        ]

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        found = []
        for images in dict.fromkeys(row["image_set"] for row in run.summary["results"]):
            rows = [row for row in run.summary["results"] if row["image_set"] == images]
            where = f" on {images}" if run.many_sets else ""
            if all(row["accuracy_clean"] is not None for row in rows):
                each = [f"{row['classifier']} {plain((estimate(row, 'accuracy_clean'),))}" for row in rows]
                said = Sentence(f"Accuracy on the untouched images{where}: {listed(each, 8)}.", "finding")
                found.append(Weighted(said, ACCURACY, clean_accuracy(images)))
        return found


def _numbers(row: Summary) -> tuple[Any, ...]:
    return Count(row["images"]), estimate(row, "accuracy_clean"), Estimate(row["mean_confidence"])
