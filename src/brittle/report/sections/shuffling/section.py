"""The section of the measure `shuffling`."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.blocks import Block, Group, Sentence, Table, Weighted
from brittle.report.blocks.figure import Axis, Figure, Line, Mark, category_axis
from brittle.report.blocks.text import Styled, TableCell
from brittle.report.blocks.wording import p_value, plain, share
from brittle.report.page.section import MeasureRun, Row, Summary
from brittle.report.page.words import counted, number, percent
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection, finding, remarks
from brittle.report.sections.comparisons import capped, differences, higher, in_points
from brittle.report.sections.distortion import distortion_blocks, distortion_line, points, tied_classes
from brittle.report.sections.grouped import by_set, of_set, on_set
from brittle.report.sections.marks import chart, intervals
from brittle.report.sections.references import MARCU_2022
from brittle.report.sections.shuffling.pictures import strips
from brittle.report.sections.tables import WHO, Titled, bare, estimated, part, table, who

MOST_SHOWN = 8  # classifiers in a figure
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
        closing = f"{percent(first['confidence'])} intervals of accuracies over images ({_how(first)})"
        return [
            *(_printed(summary, images, rows) for images, rows in by_set(summary["results"]).items()),
            Sentence(f"{closing}; seed {first['seed']}."),
            *distortion_line(summary),
        ]

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        said = higher(run.summary["comparisons"], _what, LEADS, MOST_FINDINGS)
        return said or [finding(_alone(row), LEADS) for row in run.summary["results"][:2]]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        return [
            *(_part(run, images, rows) for images, rows in by_set(run.summary["results"]).items()),
            *distortion_blocks(run.summary),
            *remarks(limits=(LIMIT,), references=(MARCU_2022,)),
        ]


def _alone(row: Row) -> str:
    each = max(row["shuffled"], key=lambda one: one["points_lost"])
    gathered = f", of which {_to_top_class(each)}" if 0 < each["points_to_top"] <= each["points_lost"] else ""
    return (
        f"On {_grid(each['grid'])} shuffled patches, {row['classifier']} loses {each['points_lost']:.1f} points "
        f"of accuracy{gathered}."
    )


def _untouched(row: Row) -> TableCell:
    return share(row, "accuracy_clean", "none", 1)


def _printed(summary: Summary, images: str, rows: Sequence[Row]) -> Group:
    def at(place: int) -> Sequence[Titled]:
        grid = _grid(rows[0]["shuffled"][place]["grid"])
        accuracy, lost = part("accuracy"), estimated("points_lost", places=1)
        return (
            (grid, lambda row: accuracy(row["shuffled"][place])),
            (f"points lost, {grid}", lambda row: lost(row["shuffled"][place])),
        )

    columns = (column for place in range(len(rows[0]["shuffled"])) for column in at(place))
    gathered = [
        f"{row['classifier']} on {_grid(each['grid'])}: {points(each)}" for row in rows for each in row["shuffled"]
    ]
    apart = [in_points(pair, _what(pair)) for pair in of_set(summary["comparisons"], images)]
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
                f"What is left of accuracy when patches change places: {_how(first)}."
                f"{unlabelled if first['reference'] != 'label' else ''}"
            ),
            _figure(rows),
            _table(rows),
            Sentence(
                f"{percent(first['confidence'])} intervals, each on its own, for the population that the images were "
                "drawn from. The DI index is that of a single run, without a claim that other trainings favour the "
                "same class. By chance: its mean if errors were spread at random; p: how often that reaches the index. "
                "A classifier that takes new edges for a class loses accuracy here however little it goes by shape.",
                "note",
            ),
            *differences(of_set(run.summary["comparisons"], images), _what),
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
        ("grid", lambda row: _grid(row["grid"])),
        ("untouched", _untouched),
        ("shuffled", part("accuracy")),
        ("points lost", estimated("points_lost", places=1)),
        ("of these, to one class", _to_top_class),
        ("DI index", bare("di", 2, missing="undefined")),
        ("by chance", lambda row: bare("mean", 2)({"mean": by_chance(row, "mean")})),
        ("p", lambda row: p_value(by_chance(row, "p_value"))),
        by=0,
    )


def _figure(rows: Sequence[Row]) -> Figure:
    """Accuracy untouched and under each grid, with intervals."""
    shown = rows[:MOST_SHOWN]
    grids = [_grid(each["grid"]) for each in shown[0]["shuffled"]]
    step, marks = 0.3 / len(shown), list[Mark]()
    for place, row in enumerate(shown):
        heights = row["accuracy_clean"], *(each["accuracy"] for each in row["shuffled"])
        bounds = row["accuracy_clean_interval"], *(each["accuracy_interval"] for each in row["shuffled"])
        across = tuple(at - 0.15 + (place + 0.5) * step for at in range(len(heights)))
        marks += [Line(who(row), across, heights, weight="thin", markers=True), intervals(who(row), across, bounds)]
    told = "; ".join(
        f"{row['classifier']}: {plain((share(row, 'accuracy_clean', 'none', 1),))} untouched, "
        + ", ".join(
            f"{plain((share(each, 'accuracy', 'none', 1),))} at {_grid(each['grid'])}" for each in row["shuffled"]
        )
        for row in shown
    )
    axes = (
        category_axis(["untouched", *grids], "patches that are shuffled"),
        Axis("accuracy", None, 0.0, 1.0, grid=True),
    )
    reading = (
        f"Accuracy on untouched images, and with their patches shuffled in ever finer grids; bars are "
        f"{percent(rows[0]['confidence'])} intervals, each on its own. Marks of one grid stand side by side."
    )
    return chart(f"accuracy on shuffled patches. {told}", marks, *axes, reading)


def _grid(side: int) -> str:
    return f"{side}×{side}"


def _to_top_class(row: Row) -> str:
    """35.8 to Bag (chance: 8.1)"""
    if row["di"] is None:
        return "–"
    gained, chance = number(row["points_to_top"], 1), number(row["points_by_chance"], 1)
    return f"{gained} to {row['top_class']}{tied_classes(row)} (chance: {chance})"


def _how(row: Row) -> str:
    """How images are shuffled."""
    if row["moves"] == "cycle":
        return f"{row['samples']} shuffles per image and grid, in one cycle: no patch stays in place"
    first = row["shuffled"][0]
    odds = f"; the identity is among them, 1 in {round(1 / first['identity'])} at 2×2" if first["grid"] == 2 else ""
    return f"{row['samples']} shuffles per image and grid, uniform permutations of the patches{odds}"


def _what(pair: Row) -> str:
    return f"accuracy on {_grid(pair['grid'])} patches"
