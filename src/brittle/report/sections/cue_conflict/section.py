"""The section of the measure `cue-conflict`."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.blocks import Block, Count, Group, Sentence, Span, Styled, TableCell, Weighted
from brittle.report.blocks.wording import plain, share
from brittle.report.page.section import MeasureRun, Row, Summary
from brittle.report.page.words import percent
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection, finding, remarks
from brittle.report.sections.comparisons import capped, differences, higher, in_points
from brittle.report.sections.cue_conflict.figures import bias_figure
from brittle.report.sections.cue_conflict.pictures import stimuli
from brittle.report.sections.grouped import by_set, of_set, on_set
from brittle.report.sections.references import GEIRHOS_2019, OWEN_2007
from brittle.report.sections.tables import count, part, table, who

LEADS = 0.4  # how much a finding matters
MOST_FINDINGS = 3
SHAPE_BIAS = "shape bias"


@register("cue-conflict")
class CueConflictSection(BaseSection):
    """What classifiers go by, shape or texture."""

    title = "Shape against texture"
    listed, without = "results", ("per_class",)

    def brief(self, summary: Summary) -> Sequence[Block]:
        first = summary["results"][0]
        closing = f"{percent(first['confidence'])} intervals by bootstrap over shape images and texture images"
        return [
            *(_printed(summary, images, rows) for images, rows in by_set(summary["results"]).items()),
            Sentence(f"{closing} ({first['resamples']} draws); seed {first['seed']}."),
        ]

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        said = higher(run.summary["comparisons"], lambda pair: SHAPE_BIAS, LEADS, MOST_FINDINGS)
        return said or [finding(_alone(row), LEADS) for row in run.summary["results"][:2]]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        return [
            *(_part(run, images, rows) for images, rows in by_set(run.summary["results"]).items()),
            *remarks(
                "Shape bias: of answers that are a stimulus’s shape or texture, the share that is the shape.",
                (
                    "Shape bias counts only answers that are the shape or the texture; a classifier that is seldom "
                    "either has one too.",
                ),
                references=(GEIRHOS_2019, OWEN_2007),
            ),
        ]


def _alone(row: Row) -> str:
    bias = plain((share(row, "shape_bias", places=1),))
    return f"{row['classifier']} goes by shape in {bias} of its answers that are shape or texture."


def _decider(row: Row) -> Span:
    """A classifier, or the name of somebody of whom only decisions were given."""
    return who(row) if "classifier" in row else str(row["name"])


def _printed(summary: Summary, images: str, rows: Sequence[Row]) -> Group:
    shown = table(
        [*rows, *of_set(summary["deciders"], images)],
        ("", _decider),
        ("answered by shape", part("shape_accuracy")),
        ("by texture", part("texture_accuracy")),
        (SHAPE_BIAS, part("shape_bias")),
        noun="classifier",
    )
    about = f" on {images}: {rows[0]['stimuli']} stimuli, {rows[0]['in_conflict']} of them in conflict"
    lines = capped([in_points(pair, SHAPE_BIAS) for pair in of_set(summary["comparisons"], images)])
    return Group((Styled("Shape against texture"), about), (shown, *lines))


def _part(run: MeasureRun, images: str, rows: Sequence[Row]) -> Group:
    """Everything of one image set."""
    first, also = rows[0], of_set(run.summary["deciders"], images)
    return Group(
        on_set(run, images, "What is answered"),
        (
            Sentence(
                "Stimuli with the shape of one class and the texture of another (Geirhos et al. 2019). Accuracies are "
                f"over all {first['stimuli']} stimuli; shape bias is over the {first['in_conflict']} whose shape and "
                "texture differ: answers by shape, of those by shape or texture."
            ),
            table(
                [*rows, *also],
                ("who", _decider),
                ("stimuli", count("stimuli")),
                ("answered by shape", part("shape_accuracy")),
                ("by texture", part("texture_accuracy")),
                ("by shape and by texture, in conflict", _in_conflict),
                (SHAPE_BIAS, part("shape_bias")),
            ),
            Sentence(
                f"{percent(first['confidence'])} intervals, each on its own, by {first['resamples']} draws of shape "
                "images and of texture images, which stimuli share. Where all answers were of one kind, the exact "
                "binomial interval of as many trials as there were such images.",
                "note",
            ),
            bias_figure(rows, also),
            *differences(of_set(run.summary["comparisons"], images), lambda pair: SHAPE_BIAS),
            *stimuli(run, images, [row["classifier"] for row in rows]),
        ),
    )


def _in_conflict(row: Row) -> TableCell:
    return Count(row["shape_answers"]), " and ", Count(row["texture_answers"], row["in_conflict"])
