"""The section of the measure `shuffling`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import pyarrow as pa

from brittle.report.blocks import Block, ClassifierName, Estimate, Group, Sentence, Styled, Table, TableCell, Weighted
from brittle.report.blocks.wording import estimate, p_value, share
from brittle.report.page.section import MeasureRun, Summary
from brittle.report.page.words import counted, percent
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection
from brittle.report.sections.distortion import distortion_blocks, distortion_line, points
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.references import MARCU_2022
from brittle.report.sections.shares import Row, difference, differences, few, finding
from brittle.report.sections.shuffling import words
from brittle.report.sections.shuffling.figures import shuffled_figure
from brittle.report.sections.shuffling.pictures import strips

LEADS = 0.4  # how much a finding matters
MOST_FINDINGS = 3


@register("shuffling")
class ShufflingSection(BaseSection):
    """What is left of accuracy when patches change places."""

    title = "Shuffled patches"

    def table(self, summary: Summary) -> pa.Table:
        """A row per classifier, image set and grid."""
        return arrow(
            [
                flat({key: value for key, value in row.items() if key != "shuffled"} | each)
                for row in summary["results"]
                for each in row["shuffled"]
            ]
        )

    def brief(self, summary: Summary) -> Sequence[Block]:
        first = summary["results"][0]
        closing = f"{percent(first['confidence'])} intervals of accuracies over images ({words.how(first)})"
        return [
            *(
                _printed(summary, images, list(rows))
                for images, rows in groupby(summary["results"], lambda row: row["image_set"])
            ),
            Sentence(f"{closing}; seed {first['seed']}."),
            *distortion_line(summary),
        ]

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        told = (finding(pair, words.what(pair), LEADS) for pair in run.summary["comparisons"])
        said = [each for each in told if each is not None]
        return said[:MOST_FINDINGS] or [_alone(row) for row in run.summary["results"][:2]]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        return [
            *(
                _part(run, images, list(rows))
                for images, rows in groupby(run.summary["results"], lambda row: row["image_set"])
            ),
            *distortion_blocks(run.summary),
            Sentence(
                "Accuracy on shuffled patches is not shape bias: patches bring edges of their own, and classifiers of "
                "like shape bias lose very different amounts (Marcu & Prügel-Bennett 2022, tables 1, 2 and 4). Look "
                "where the errors go.",
                "limit",
            ),
            Sentence(MARCU_2022, "reference"),
        ]


def _alone(row: Row) -> Weighted:
    each = max(row["shuffled"], key=lambda one: one["points_lost"])
    gathered = f", of which {words.top(each)}" if 0 < each["points_to_top"] <= each["points_lost"] else ""
    text = (
        f"On {words.grid(each['grid'])} shuffled patches, {row['classifier']} loses {each['points_lost']:.1f} points "
        f"of accuracy{gathered}."
    )
    return Weighted(Sentence(text, "finding"), LEADS)


def _pairs(summary: Summary, images: str) -> list[Row]:
    return [pair for pair in summary["comparisons"] if pair["image_set"] == images]


def _printed(summary: Summary, images: str, rows: Sequence[Row]) -> Group:
    grids = [words.grid(each["grid"]) for each in rows[0]["shuffled"]]
    table = Table(
        ("", "untouched", *(f"{head}{grid}" for grid in grids for head in ("", "points lost, "))),
        tuple(
            (
                ClassifierName(row["classifier"]),
                share(row, "accuracy_clean", "none", 1),
                *(
                    cell
                    for each in row["shuffled"]
                    for cell in (share(each, "accuracy", places=1), estimate(each, "points_lost", places=1))
                ),
            )
            for row in rows
        ),
        noun="classifier",
    )
    gathered = [
        f"{row['classifier']} on {words.grid(each['grid'])}: {points(each)}" for row in rows for each in row["shuffled"]
    ]
    apart = [difference(pair, words.what(pair)) for pair in _pairs(summary, images)]
    about = f" on {images}, {counted(rows[0]['images'], 'image')}"
    return Group((Styled("Shuffled patches"), about), (table, *few(gathered), *few(apart)))


def _part(run: MeasureRun, images: str, rows: Sequence[Row]) -> Group:
    """Everything of one image set."""
    first = rows[0]
    unlabelled = " These images have no labels: what counts is the clean prediction."
    return Group(
        f"On {images}" if run.many_sets else "Accuracy on shuffled patches",
        (
            Sentence(
                f"What is left of accuracy when patches change places: {words.how(first)}."
                f"{unlabelled if first['reference'] != 'label' else ''}"
            ),
            shuffled_figure(rows),
            Table(
                (
                    *("classifier", "grid", "untouched", "shuffled", "points lost", "of these, to one class"),
                    *("DI index", "by chance", "p"),
                ),
                tuple(_shuffled(row, each) for row in rows for each in row["shuffled"]),
                by=0,
            ),
            Sentence(
                f"{percent(first['confidence'])} intervals, each on its own, for the population that the images were "
                "drawn from. The DI index is that of a single run, without a claim that other trainings favour the "
                "same class. By chance: its mean if errors were spread at random; p: how often that reaches the index. "
                "A classifier that takes new edges for a class loses accuracy here however little it goes by shape.",
                "note",
            ),
            *differences(_pairs(run.summary, images), words.what),
            *strips(run, images, [row["classifier"] for row in rows]),
        ),
    )


def _shuffled(row: Row, each: Row) -> tuple[TableCell, ...]:
    """A classifier on one grid."""
    chance = each.get("chance_spread") if each["di"] is not None else None
    return (
        ClassifierName(row["classifier"]),
        words.grid(each["grid"]),
        share(row, "accuracy_clean", "none", 1),
        share(each, "accuracy", places=1),
        estimate(each, "points_lost", places=1),
        words.top(each),
        Estimate(each["di"], places=2, missing="undefined"),
        Estimate(chance and chance["mean"], places=2),
        p_value(chance and chance["p_value"]),
    )
