"""The section of the measure `error-consistency`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import pyarrow as pa

from brittle.report.blocks import Block, Count, Group, Sentence, Styled, Table, TableCell
from brittle.report.blocks.wording import plain, share
from brittle.report.page.section import MeasureRun, Summary
from brittle.report.page.words import counted, percent
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection
from brittle.report.sections.error_consistency.figures import kappa, kappa_figure
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.references import GEIRHOS_2020
from brittle.report.sections.shares import MOST_PAIRS, Row, few

MOST_IN_FIGURE = 40  # deciders in a matrix of κ


@register("error-consistency")
class ErrorConsistencySection(BaseSection):
    """Whose errors are alike."""

    title = "Whose errors are alike"

    def table(self, summary: Summary) -> pa.Table:
        """A row per pair and image set."""
        return arrow([flat(row) for row in summary["results"]])

    def brief(self, summary: Summary) -> Sequence[Block]:
        first = summary["results"][0]
        closing = f"{percent(first['confidence'])} intervals of κ by bootstrap ({first['resamples']} draws)"
        return [
            *(
                Group(
                    (
                        Styled("Error consistency"),
                        f" κ on {images} (1: wrong on the same images, 0: as chance has it):",
                    ),
                    (
                        *few([_consistency(pair) for pair in pairs]),
                        *few([_people(each) for each in _on(summary, images)]),
                    ),
                )
                for images, pairs in groupby(summary["results"], lambda row: row["image_set"])
            ),
            Sentence(f"{closing}; seed {first['seed']}."),
        ]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        return [
            *(
                _part(run, images, list(pairs))
                for images, pairs in groupby(run.summary["results"], lambda row: row["image_set"])
            ),
            Sentence(
                "Error consistency κ: how much more often than by chance two are wrong on the same images.",
                "definition",
            ),
            Sentence(
                "Error consistency says that errors fall on the same images, not that the wrong answers are the same.",
                "limit",
            ),
            Sentence(GEIRHOS_2020, "reference"),
        ]


def _on(summary: Summary, images: str) -> list[Row]:
    """How classifiers agree with people, and people with one another."""
    return [each for each in summary["people"] if each["image_set"] == images]


def _consistency(pair: Row) -> str:
    observed, expected = (plain((share(pair, key, places=1),)) for key in ("observed", "expected"))
    return (
        f"{pair['first']} and {pair['second']}: {plain((kappa(pair),))}, both right or both wrong on {observed} of "
        f"{counted(pair['images'], 'image')}, {expected} by chance"
    )


def _people(row: Row) -> str:
    who = "people with one another" if row["decider"] == "people" else f"{row['decider']} with people"
    return f"{who}, mean over {row['people']}: {plain((kappa(row),))}"


def _part(run: MeasureRun, images: str, pairs: Sequence[Row]) -> Group:
    """Everything of one image set."""
    deciders = [each for each in run.summary["deciders"] if each["image_set"] == images]
    shown = pairs[:MOST_PAIRS]
    more = f" {len(shown)} of {len(pairs)} pairs; all are in summary.json." if len(pairs) > len(shown) else ""
    table = Table(
        ("first", "second", "images", "both right or both wrong", "by chance", "κ"),
        (
            *(
                (
                    *(pair["first"], pair["second"], Count(pair["images"])),
                    *(share(pair, key, places=1) for key in ("observed", "expected")),
                    kappa(pair),
                )
                for pair in shown
            ),
            *(_with_people(each) for each in _on(run.summary, images)),
        ),
    )
    return Group(
        f"On {images}" if run.many_sets else "Error consistency",
        (
            Sentence(
                "Cohen’s κ between the errors of two (Geirhos et al. 2020): 1 where they are wrong on the same images, "
                "0 where only as often as independent errors at their accuracies would be."
            ),
            *([kappa_figure(pairs)] if 3 <= len(deciders) <= MOST_IN_FIGURE else []),
            table,
            Sentence(f"{percent(pairs[0]['confidence'])} bootstrap intervals, each on its own.{more}", "note"),
        ),
    )


def _with_people(row: Row) -> tuple[TableCell, ...]:
    whom = "one another" if row["decider"] == "people" else "people"
    return row["decider"], f"{whom}, mean over {row['people']}", None, None, None, kappa(row)
