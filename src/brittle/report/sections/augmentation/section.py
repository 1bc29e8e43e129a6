"""The section of the measure `augmentation`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from brittle.report.blocks import Block, ClassifierName, Estimate, Group, Sentence, Styled, Table, Text, Weighted
from brittle.report.blocks.wording import estimate, plain
from brittle.report.page.section import MeasureRun, Summary
from brittle.report.page.words import counted, percent
from brittle.report.sections import register
from brittle.report.sections.augmentation import words
from brittle.report.sections.augmentation.figures import scatter
from brittle.report.sections.augmentation.pictures import pictures
from brittle.report.sections.augmentation.words import Line, Row, Value
from brittle.report.sections.base import BaseSection
from brittle.report.sections.distortion import distortion_blocks, distortion_line
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.references import GONTIJO_LOPES_2020, MARCU_2022, WAUDBY_SMITH_2023

LEADS = 0.3
MOST_PRINTED = 40
MOST_FINDINGS = 2
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

    def brief(self, summary: Summary) -> Sequence[Block]:
        heading = (Styled("Affinity"), ": accuracy on augmented images minus accuracy on clean ones, in points")
        rows = summary["results"]
        mixed = next((row for row in rows if row["pairs"] is not None), None)
        how = "" if mixed is None else f"; mixes: over {counted(mixed['pairs'], 'disjoint pair')}, the majority’s label"
        table = Table(
            ("", "augmentation", "affinity", "accuracy", "clean"),
            tuple((ClassifierName(row["classifier"]), row["augmentation"], *_numbers(row)) for row in rows),
            shown=MOST_PRINTED,
        )
        closing = f"{percent(rows[0]['confidence'])} intervals over images{how}; seed {rows[0]['seed']}."
        return [
            Group(heading, (table, *map(Sentence, _over_runs(words.lines(summary)[:MOST_PRINTED])))),
            Sentence(closing),
            *distortion_line(summary),
        ]

    def table(self, summary: Summary) -> pa.Table:
        """A row per reference classifier, image set and augmentation."""
        return arrow([flat(row) for row in summary["results"]])

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        rows = sorted(run.summary["results"], key=lambda row: row["affinity"])[:MOST_FINDINGS]
        said = (
            f"On images augmented by {row['augmentation']}, {row['classifier']} has an affinity of "
            f"{plain((estimate(row, 'affinity', places=1),))} points."
            for row in rows
        )
        return [Weighted(Sentence(text, "finding"), LEADS) for text in said]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        rows = run.summary["results"]
        return [
            Sentence(DEFINED),
            Group("Affinity and diversity", tuple(_both(run)), key="both"),
            Group("By reference classifier", tuple(_by_classifier(run)), key="classifiers"),
            *(_look(run, images) for images in dict.fromkeys(row["image_set"] for row in rows)),
            *distortion_blocks(run.summary),
            Sentence("Affinity: accuracy on augmented images minus accuracy on clean ones, in points.", "definition"),
            *(Sentence(text, "limit") for text in LIMITS),
            Sentence(f"the draws per image ({rows[0]['samples']})", "citation"),
            *(Sentence(text, "reference") for text in (GONTIJO_LOPES_2020, MARCU_2022, WAUDBY_SMITH_2023)),
        ]


def _numbers(row: Row) -> tuple[Estimate, ...]:
    return estimate(row, "affinity", places=1), estimate(row, "accuracy_augmented"), Estimate(row["accuracy_clean"])


def _over_runs(lines: Sequence[Line]) -> Iterator[str]:
    for each in lines:
        parts = [f"affinity {each.affinity.told()} over {each.affinity.runs} runs"] if each.affinity.runs > 1 else []
        parts += [f"diversity {each.diversity.told()}"] if each.diversity.mean is not None else []
        parts += [f"mixed {each.mix_diversity.told()}"] if each.mix_diversity.mean is not None else []
        if parts:
            yield f"{each.augmentation}, {each.group}: {', '.join(parts)}"


def _both(run: MeasureRun) -> Iterator[Block]:
    lines = words.lines(run.summary)
    several, told = len({each.group for each in lines}) > 1, [each for each in lines if each.diversity.mean is not None]

    def value(it: Value) -> tuple[Estimate, str]:
        return Estimate(it.mean, places=2), "" if it.spread is None else f" ± {it.spread:.2f}"

    first = ("augmentation", *(["reference"] if several else []), *(["image set"] if run.many_sets else []))
    yield Table(
        (*first, "affinity", "diversity", "mixed diversity"),
        tuple(
            (
                *(each.augmentation, *([each.group] if several else []), *([each.images] if run.many_sets else [])),
                *map(value, (each.affinity, each.diversity, each.mix_diversity)),
            )
            for each in lines
        ),
    )
    means = "Means over the runs of a model, ± their standard deviation where there are several."
    yield Sentence(means if told else (means, *UNKNOWN), "note")
    if told:
        yield scatter(told)


def _by_classifier(run: MeasureRun) -> Iterator[Block]:
    rows = run.summary["results"]
    yield Table(
        (
            *("classifier", "augmentation", *(["image set"] if run.many_sets else [])),
            *("affinity", "accuracy augmented", "clean", "measured on"),
        ),
        tuple(
            (
                *(ClassifierName(row["classifier"]), row["augmentation"]),
                *([row["image_set"]] if run.many_sets else []),
                *_numbers(row),
                words.clusters(row),
            )
            for row in rows
        ),
        by=0,
    )
    yield Sentence(
        f"{percent(rows[0]['confidence'])} intervals, each on its own, over images; where two images are mixed, over "
        "disjoint pairs, in which each has the larger share once per draw, so that pairs are independent.",
        "note",
    )


def _look(run: MeasureRun, images: str) -> Group:
    title = f"What they look like{f', on {images}' * run.many_sets}"
    if why_not := run.whole.why_unreadable(images):
        return Group(title, (Sentence(why_not, "note"),))
    note = (
        "The first images in planned order, not selected, with their partners and the first draw of each augmentation; "
        "percentages are the image’s own share."
    )
    return Group(title, (Sentence(note, "note"), pictures(run, images)))
