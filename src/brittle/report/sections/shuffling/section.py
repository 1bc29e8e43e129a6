"""The section of the measure `shuffling`."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.blocks import Block, Group, Sentence, Styled, Table, TableCell, Weighted
from brittle.report.blocks.wording import p_value, share
from brittle.report.page.section import MeasureRun, Row, Summary
from brittle.report.page.words import counted, percent
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection, finding, remarks
from brittle.report.sections.comparisons import capped, differences, higher, in_points
from brittle.report.sections.distortion import distortion_blocks, distortion_line, points
from brittle.report.sections.grouped import by_set, of_set, on_set
from brittle.report.sections.references import MARCU_2022
from brittle.report.sections.shuffling import words
from brittle.report.sections.shuffling.figures import shuffled_figure
from brittle.report.sections.shuffling.pictures import strips
from brittle.report.sections.tables import WHO, Titled, bare, number, part, table, who

LEADS = 0.4  # how much a finding matters
MOST_FINDINGS = 3
LIMIT = (
    "Accuracy on shuffled patches is not shape bias: patches bring edges of their own, and classifiers of like shape "
    "bias lose very different amounts (Marcu & Prügel-Bennett 2022, tables 1, 2 and 4). Look where the errors go."
)


@register("shuffling")
class ShufflingSection(BaseSection):
    """What is left of accuracy when patches change places."""

    title = "Shuffled patches"
    listed, per = "results", "shuffled"

    def brief(self, summary: Summary) -> Sequence[Block]:
        first = summary["results"][0]
        closing = f"{percent(first['confidence'])} intervals of accuracies over images ({words.how(first)})"
        return [
            *(_printed(summary, images, rows) for images, rows in by_set(summary["results"]).items()),
            Sentence(f"{closing}; seed {first['seed']}."),
            *distortion_line(summary),
        ]

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        said = higher(run.summary["comparisons"], words.what, LEADS, MOST_FINDINGS)
        return said or [finding(_alone(row), LEADS) for row in run.summary["results"][:2]]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        return [
            *(_part(run, images, rows) for images, rows in by_set(run.summary["results"]).items()),
            *distortion_blocks(run.summary),
            *remarks(limits=(LIMIT,), references=(MARCU_2022,)),
        ]


def _alone(row: Row) -> str:
    each = max(row["shuffled"], key=lambda one: one["points_lost"])
    gathered = f", of which {words.top(each)}" if 0 < each["points_to_top"] <= each["points_lost"] else ""
    return (
        f"On {words.grid(each['grid'])} shuffled patches, {row['classifier']} loses {each['points_lost']:.1f} points "
        f"of accuracy{gathered}."
    )


def _untouched(row: Row) -> TableCell:
    return share(row, "accuracy_clean", "none", 1)


def _printed(summary: Summary, images: str, rows: Sequence[Row]) -> Group:
    def at(place: int) -> Sequence[Titled]:
        grid = words.grid(rows[0]["shuffled"][place]["grid"])
        accuracy, lost = part("accuracy"), number("points_lost", places=1)
        return (
            (grid, lambda row: accuracy(row["shuffled"][place])),
            (f"points lost, {grid}", lambda row: lost(row["shuffled"][place])),
        )

    columns = (column for place in range(len(rows[0]["shuffled"])) for column in at(place))
    gathered = [
        f"{row['classifier']} on {words.grid(each['grid'])}: {points(each)}" for row in rows for each in row["shuffled"]
    ]
    apart = [in_points(pair, words.what(pair)) for pair in of_set(summary["comparisons"], images)]
    about = f" on {images}, {counted(rows[0]['images'], 'image')}"
    return Group(
        (Styled("Shuffled patches"), about),
        (
            table(rows, ("", who), ("untouched", _untouched), *columns, noun="classifier"),
            *capped(gathered),
            *capped(apart),
        ),
    )


def _part(run: MeasureRun, images: str, rows: Sequence[Row]) -> Group:
    """Everything of one image set."""
    first = rows[0]
    unlabelled = " These images have no labels: what counts is the clean prediction."
    return Group(
        on_set(run, images, "Accuracy on shuffled patches"),
        (
            Sentence(
                f"What is left of accuracy when patches change places: {words.how(first)}."
                f"{unlabelled if first['reference'] != 'label' else ''}"
            ),
            shuffled_figure(rows),
            _table(rows),
            Sentence(
                f"{percent(first['confidence'])} intervals, each on its own, for the population that the images were "
                "drawn from. The DI index is that of a single run, without a claim that other trainings favour the "
                "same class. By chance: its mean if errors were spread at random; p: how often that reaches the index. "
                "A classifier that takes new edges for a class loses accuracy here however little it goes by shape.",
                "note",
            ),
            *differences(of_set(run.summary["comparisons"], images), words.what),
            *strips(run, images, [row["classifier"] for row in rows]),
        ),
    )


def _table(rows: Sequence[Row]) -> Table:
    """A row per classifier and grid."""

    def by_chance(row: Row, key: str) -> float | None:
        return row["chance_spread"][key] if row["di"] is not None and "chance_spread" in row else None

    return table(
        [row | each for row in rows for each in row["shuffled"]],
        WHO,
        ("grid", lambda row: words.grid(row["grid"])),
        ("untouched", _untouched),
        ("shuffled", part("accuracy")),
        ("points lost", number("points_lost", places=1)),
        ("of these, to one class", words.top),
        ("DI index", bare("di", 2, missing="undefined")),
        ("by chance", lambda row: bare("mean", 2)({"mean": by_chance(row, "mean")})),
        ("p", lambda row: p_value(by_chance(row, "p_value"))),
        by=0,
    )
