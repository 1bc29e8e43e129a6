"""The section of the measure `augmentation`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from brittle.report.blocks import Block, Group, Sentence, Weighted
from brittle.report.blocks.text import Estimate, Styled, TableCell, Text
from brittle.report.blocks.wording import estimate, plain
from brittle.report.page.section import MeasureRun, Summary
from brittle.report.page.words import counted, percent
from brittle.report.sections import register
from brittle.report.sections.augmentation import words
from brittle.report.sections.augmentation.pictures import pictures
from brittle.report.sections.augmentation.words import AugmentationOfModel, MeanOverRuns, scatter
from brittle.report.sections.base import BaseSection, finding, remarks
from brittle.report.sections.distortion import distortion_blocks, distortion_line
from brittle.report.sections.grouped import by_set, with_set
from brittle.report.sections.references import GONTIJO_LOPES_2020, MARCU_2022, WAUDBY_SMITH_2023
from brittle.report.sections.tables import WHO, bare, estimated, table, text, who

LEADS = 0.3
MOST_PRINTED = 40
MOST_FINDINGS = 2
AUGMENTATION, AFFINITY = ("augmentation", text("augmentation")), ("affinity", estimated("affinity", places=1))
LIMITS = (
    "Affinity says how far augmented images are from what the reference classifier knows, not whether training with "
    "them helps: neither high affinity nor high diversity is desirable in itself (Marcu & Prügel-Bennett 2022, "
    "section 4).",
    "Diversity is the loss of one training at its end: it depends on network, schedule and number of epochs, and is "
    "compared only between trainings that share them.",
)
DEFINED = (
    "Affinity is the accuracy of a reference classifier on augmented images minus its accuracy on clean ones, in "
    "points: usually negative, and the further so, the stranger the images are to it (Gontijo-Lopes et al. 2020). "
    "Diversity is the loss that a classifier trained with the augmentation ends with, with the label of the image that "
    "has the larger share; mixed, with both labels weighted by their shares (Marcu & Prügel-Bennett 2022, table 6). "
    "Neither says by itself whether training with it helps."
)
UNKNOWN: Text = (
    " No classifier of the study says which augmentation it was trained with and to which loss: weights from ",
    Styled("brittle train", "code"),
    " do, and so may an entry, ",
    Styled('mix = "fmix", diversity = 0.34', "code"),
    ".",
)


@register("augmentation")
class AugmentationSection(BaseSection):
    """How much accuracy is lost on augmented images, beside the loss of training with them."""

    title = "Augmentations"
    listed = "results"

    def brief(self, summary: Summary) -> Sequence[Block]:
        heading = (Styled("Affinity"), ": accuracy on augmented images minus accuracy on clean ones, in points")
        rows = summary["results"]
        mixed = next((row for row in rows if row["pairs"] is not None), None)
        how = "" if mixed is None else f"; mixes: over {counted(mixed['pairs'], 'disjoint pair')}, the majority’s label"
        shown = table(
            rows,
            ("", who),
            AUGMENTATION,
            AFFINITY,
            ("accuracy", estimated("accuracy_augmented")),
            ("clean", bare("accuracy_clean")),
            shown=MOST_PRINTED,
        )
        closing = f"{percent(rows[0]['confidence'])} intervals over images{how}; seed {rows[0]['seed']}."
        return [
            Group(heading, (shown, *map(Sentence, _over_runs(words.lines(summary)[:MOST_PRINTED])))),
            Sentence(closing),
            *distortion_line(summary),
        ]

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        rows = sorted(run.summary["results"], key=lambda row: row["affinity"])[:MOST_FINDINGS]
        said = (
            f"On images augmented by {row['augmentation']}, {row['classifier']} has an affinity of "
            f"{plain((estimate(row, 'affinity', places=1),))} points."
            for row in rows
        )
        return [finding(text, LEADS) for text in said]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        rows = run.summary["results"]
        return [
            Sentence(DEFINED),
            Group("Affinity and diversity", tuple(_both(run)), key="both"),
            Group("By reference classifier", tuple(_by_classifier(run)), key="classifiers"),
            *(_look(run, images) for images in by_set(rows)),
            *distortion_blocks(run.summary),
            *remarks(
                "Affinity: accuracy on augmented images minus accuracy on clean ones, in points.",
                LIMITS,
                f"the draws per image ({rows[0]['samples']})",
                (GONTIJO_LOPES_2020, MARCU_2022, WAUDBY_SMITH_2023),
            ),
        ]


def _over_runs(lines: Sequence[AugmentationOfModel]) -> Iterator[str]:
    for each in lines:
        parts = [f"affinity {each.affinity.text()} over {each.affinity.runs} runs"] if each.affinity.runs > 1 else []
        parts += [f"diversity {each.diversity.text()}"] if each.diversity.mean is not None else []
        parts += [f"mixed {each.mix_diversity.text()}"] if each.mix_diversity.mean is not None else []
        if parts:
            yield f"{each.augmentation}, {each.group}: {', '.join(parts)}"


def _both(run: MeasureRun) -> Iterator[Block]:
    lines = words.lines(run.summary)
    several, told = len({each.group for each in lines}) > 1, [each for each in lines if each.diversity.mean is not None]
    yield table(
        lines,
        ("augmentation", lambda each: each.augmentation),
        *[("reference", lambda each: each.group)] * several,
        *[("image set", lambda each: each.images)] * run.many_sets,
        ("affinity", lambda each: _spread(each.affinity)),
        ("diversity", lambda each: _spread(each.diversity)),
        ("mixed diversity", lambda each: _spread(each.mix_diversity)),
    )
    means = "Means over the runs of a model, ± their standard deviation where there are several."
    yield Sentence(means if told else (means, *UNKNOWN), "note")
    if told:
        yield scatter(told)


def _spread(it: MeanOverRuns) -> TableCell:
    return Estimate(it.mean, places=2), "" if it.spread is None else f" ± {it.spread:.2f}"


def _by_classifier(run: MeasureRun) -> Iterator[Block]:
    rows = run.summary["results"]
    yield table(
        rows,
        WHO,
        AUGMENTATION,
        *[("image set", text("image_set"))] * run.many_sets,
        AFFINITY,
        ("accuracy augmented", estimated("accuracy_augmented")),
        ("clean", bare("accuracy_clean")),
        ("measured on", words.clusters),
        by=0,
    )
    yield Sentence(
        f"{percent(rows[0]['confidence'])} intervals, each on its own, over images; where two images are mixed, over "
        "disjoint pairs, in which each has the larger share once per draw, so that pairs are independent.",
        "note",
    )


def _look(run: MeasureRun, images: str) -> Group:
    title = with_set(run, "What they look like", images)
    if why_not := run.whole.why_unreadable(images):
        return Group(title, (Sentence(why_not, "note"),))
    note = (
        "The first images in planned order, not selected, with their partners and the first draw of each augmentation; "
        "percentages are the image’s own share."
    )
    return Group(title, (Sentence(note, "note"), pictures(run, images)))
