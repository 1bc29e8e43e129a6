"""The section of the measure `cue-conflict`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import pyarrow as pa

from brittle.report.blocks import (
    Block,
    ClassifierName,
    Count,
    Group,
    Sentence,
    Span,
    Styled,
    Table,
    TableCell,
    Weighted,
)
from brittle.report.blocks.wording import plain, share
from brittle.report.page.section import MeasureRun, Summary
from brittle.report.page.words import percent
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection
from brittle.report.sections.cue_conflict.figures import bias_figure
from brittle.report.sections.cue_conflict.pictures import stimuli
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.references import GEIRHOS_2019, OWEN_2007
from brittle.report.sections.shares import Row, difference, differences, few, finding

LEADS = 0.4  # how much a finding matters
MOST_FINDINGS = 3
SHAPE_BIAS = "shape bias"


@register("cue-conflict")
class CueConflictSection(BaseSection):
    """What classifiers go by, shape or texture."""

    title = "Shape against texture"

    def table(self, summary: Summary) -> pa.Table:
        """A row per classifier and image set."""
        rows = summary["results"]
        return arrow([flat({key: value for key, value in row.items() if key != "per_class"}) for row in rows])

    def brief(self, summary: Summary) -> Sequence[Block]:
        first = summary["results"][0]
        closing = f"{percent(first['confidence'])} intervals by bootstrap over shape images and texture images"
        return [
            *(
                _printed(summary, images, list(rows))
                for images, rows in groupby(summary["results"], lambda row: row["image_set"])
            ),
            Sentence(f"{closing} ({first['resamples']} draws); seed {first['seed']}."),
        ]

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        told = (finding(pair, SHAPE_BIAS, LEADS) for pair in run.summary["comparisons"])
        said = [each for each in told if each is not None]
        return said[:MOST_FINDINGS] or [_alone(row) for row in run.summary["results"][:2]]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        return [
            *(
                _part(run, images, list(rows))
                for images, rows in groupby(run.summary["results"], lambda row: row["image_set"])
            ),
            Sentence(
                "Shape bias: of answers that are a stimulus’s shape or texture, the share that is the shape.",
                "definition",
            ),
            Sentence(
                "Shape bias counts only answers that are the shape or the texture; a classifier that is seldom either "
                "has one too.",
                "limit",
            ),
            *(Sentence(text, "reference") for text in (GEIRHOS_2019, OWEN_2007)),
        ]


def _alone(row: Row) -> Weighted:
    bias = plain((share(row, "shape_bias", places=1),))
    text = f"{row['classifier']} goes by shape in {bias} of its answers that are shape or texture."
    return Weighted(Sentence(text, "finding"), LEADS)


def _deciders(summary: Summary, images: str, rows: Sequence[Row]) -> list[tuple[Span, Row]]:
    """Classifiers, and those of whom only decisions were given."""
    return [
        *((ClassifierName(row["classifier"]), row) for row in rows),
        *((each["name"], each) for each in _given(summary, images)),
    ]


def _given(summary: Summary, images: str) -> list[Row]:
    return [each for each in summary["deciders"] if each["image_set"] == images]


def _pairs(summary: Summary, images: str) -> list[Row]:
    return [pair for pair in summary["comparisons"] if pair["image_set"] == images]


def _printed(summary: Summary, images: str, rows: Sequence[Row]) -> Group:
    table = Table(
        ("", "answered by shape", "by texture", SHAPE_BIAS),
        tuple(
            (who, *(share(row, key, places=1) for key in ("shape_accuracy", "texture_accuracy", "shape_bias")))
            for who, row in _deciders(summary, images, rows)
        ),
        noun="classifier",
    )
    about = f" on {images}: {rows[0]['stimuli']} stimuli, {rows[0]['in_conflict']} of them in conflict"
    lines = few([difference(pair, SHAPE_BIAS) for pair in _pairs(summary, images)])
    return Group((Styled("Shape against texture"), about), (table, *lines))


def _part(run: MeasureRun, images: str, rows: Sequence[Row]) -> Group:
    """Everything of one image set."""
    first, also = rows[0], _given(run.summary, images)
    return Group(
        f"On {images}" if run.many_sets else "What is answered",
        (
            Sentence(
                "Stimuli with the shape of one class and the texture of another (Geirhos et al. 2019). Accuracies are "
                f"over all {first['stimuli']} stimuli; shape bias is over the {first['in_conflict']} whose shape and "
                "texture differ: answers by shape, of those by shape or texture."
            ),
            Table(
                (
                    *("who", "stimuli", "answered by shape", "by texture", "by shape and by texture, in conflict"),
                    SHAPE_BIAS,
                ),
                tuple(_answered(who, row) for who, row in _deciders(run.summary, images, rows)),
            ),
            Sentence(
                f"{percent(first['confidence'])} intervals, each on its own, by {first['resamples']} draws of shape "
                "images and of texture images, which stimuli share. Where all answers were of one kind, the exact "
                "binomial interval of as many trials as there were such images.",
                "note",
            ),
            bias_figure(rows, also),
            *differences(_pairs(run.summary, images), lambda pair: SHAPE_BIAS),
            *stimuli(run, images, [row["classifier"] for row in rows]),
        ),
    )


def _answered(who: Span, row: Row) -> tuple[TableCell, ...]:
    return (
        *(who, Count(row["stimuli"])),
        *(share(row, key, places=1) for key in ("shape_accuracy", "texture_accuracy")),
        (Count(row["shape_answers"]), " and ", Count(row["texture_answers"], row["in_conflict"])),
        share(row, "shape_bias", places=1),
    )
