"""The section of the measure `cue-conflict`."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.images.cue_conflict import TEXTURE
from brittle.measures.clean.measure import clean_columns
from brittle.report.blocks import Block, Group, Pictures, Sentence, Weighted
from brittle.report.blocks.figure import Axis, Figure, Mark, Role, Rule, category_axis
from brittle.report.blocks.pictures import Card, Original, Strip
from brittle.report.blocks.text import Count, Span, Styled, TableCell
from brittle.report.blocks.wording import plain, share
from brittle.report.page.section import MeasureRun, Row, Summary
from brittle.report.page.words import percent
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection, finding, remarks
from brittle.report.sections.comparisons import capped, differences, higher, in_points
from brittle.report.sections.grouped import by_set, of_set, on_set
from brittle.report.sections.marks import chart, whiskers
from brittle.report.sections.pictured import MOST_CLASSIFIERS, clean_answers, readable, shown_image
from brittle.report.sections.references import GEIRHOS_2019, OWEN_2007
from brittle.report.sections.tables import count, part, table, who

MOST_STIMULI = 8
MOST_SHOWN = 8  # classifiers in a figure
TICKS = ((0.0, "0\ntexture"), (0.25, "0.25"), (0.5, "0.5"), (0.75, "0.75"), (1.0, "1\nshape"))
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
            _figure(rows, also),
            *differences(of_set(run.summary["comparisons"], images), lambda pair: SHAPE_BIAS),
            *_stimuli(run, images, [row["classifier"] for row in rows]),
        ),
    )


def _in_conflict(row: Row) -> TableCell:
    return Count(row["shape_answers"]), " and ", Count(row["texture_answers"], row["in_conflict"])


def _figure(rows: Sequence[Row], also: Sequence[Row]) -> Figure:
    """A line per class, a mark per classifier with its interval, and its overall shape bias as an upright line."""
    shown = rows[:MOST_SHOWN]
    names = [each["class"] for each in shown[0]["per_class"]]
    step = 0.7 / len(shown)
    marks: list[Mark] = [
        Rule(each["shape_bias"], of=Role("prior"), dash="dotted") for each in also if each["shape_bias"] is not None
    ]
    for place, row in enumerate(shown):
        own = row["per_class"]
        at = [line - 0.35 + (place + 0.5) * step for line in range(len(own))]
        biases, ends = ([each[key] for each in own] for key in ("shape_bias", "shape_bias_interval"))
        marks += whiskers(who(row), at, biases, ends, "x")
        if row["shape_bias"] is not None:
            marks.append(Rule(row["shape_bias"], of=who(row), dash="own"))
    told = ", ".join(f"{row['classifier']} {plain((share(row, 'shape_bias', 'none', 1),))}" for row in shown)
    given = ", dotted grey ones that of those whose decisions were given" if also else ""
    some = f" The first {MOST_SHOWN} of {len(rows)} classifiers." if len(rows) > MOST_SHOWN else ""
    return chart(
        f"shape bias by class; overall {told}",
        marks,
        Axis("shape bias: answers by shape / (by shape + by texture)", TICKS, 0.0, 1.0),
        category_axis(names, "shape of the stimulus", falling=True),
        f"Shape bias by the shape of the stimulus; upright lines are the classifiers’ overall shape bias{given}. A "
        f"class has few shape images: its interval is rough.{some}",
        height=1.2 + 0.36 * len(names),
    )


def _stimuli(run: MeasureRun, images: str, classifiers: Sequence[str]) -> list[Block]:
    """The first stimuli in planned order, not selected; or why there are none."""
    view, instead = readable(run, images)
    if view is None:
        return instead
    subject, cards = view.images[images], []
    clean = {name: clean_columns(view, name, images) for name in classifiers[:MOST_CLASSIFIERS]}
    for place in range(min(MOST_STIMULI, len(subject))):
        image, answers = shown_image(view, images, place), clean_answers(run, clean, images, place)
        above = f"{image.label}, {subject.columns[TEXTURE][place]}"
        cards.append(Card(Original(images, image.id), above, image.name, answers))
    note = Sentence("Above each its shape and its texture; ✓ where the answer is the shape.", "note")
    return [Group("Some stimuli, not selected", (note, Pictures((Strip(tuple(cards)),))))]
