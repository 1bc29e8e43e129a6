"""The section of the measure `ranking`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from itertools import groupby

import pyarrow as pa

from brittle.report.blocks import Block, Group, Sentence, Table, Weighted
from brittle.report.blocks.figure import Axis, Figure, Intervals, Line, Mark, Panel
from brittle.report.blocks.text import Estimate, Styled, TableCell
from brittle.report.page.choose_few import some_of
from brittle.report.page.section import MeasureRun, Row, Summary
from brittle.report.page.words import EVERYTHING, counted, listed, sentence
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection, finding, remarks
from brittle.report.sections.flatten import arrow
from brittle.report.sections.grouped import with_set
from brittle.report.sections.ranking import words
from brittle.report.sections.ranking.words import BY
from brittle.report.sections.references import CNS_BENCH_2025, HOLM_1979, MCNEMAR_1947
from brittle.report.sections.tables import Titled, table, who

APART = 0.5  # of a rank, over which those that share one are spread
MOST_BARS = 5  # classifiers: the bars of more hide one another
MOST_TICKS = 12
LEADS, LESS = 0.5, 0.3
MOST_FINDINGS = 3
MOST_OPEN = 3  # shifts whose rankings are unfolded
MOST_SWAPS = 20
PRINTED_ROWS, PRINTED_COLUMNS, PRINTED_TABLES, PRINTED_SWAPS = 12, 7, 6, 4
LIMITS = (
    "A tie says that these images don’t tell two classifiers apart, not that they are equal: with more images there "
    "are fewer ties.",
    "Ranks by accuracy and by drop answer different questions: a classifier that is bad without a shift has little "
    "left to lose.",
    "The paper’s rule, overlap of one-standard-error intervals, ignores that classifiers are measured on the same "
    "images and that many pairs are looked at: it finds false differences, and misses true ones.",
)


@register("ranking")
class RankingSection(BaseSection):
    """Which classifier is best at each severity, and which change places."""

    title = "Rankings"

    def brief(self, summary: Summary) -> Sequence[Block]:
        results = summary["results"]
        more = len(results) - PRINTED_TABLES
        cut = [Sentence(f"… and {more} more rankings ({EVERYTHING})")] if more > 0 else []
        return [
            *map(_printed, results[:PRINTED_TABLES]),
            *cut,
            Sentence(f"A rank 1–3 is one that tests leave open: {words.how(results[0])}."),
        ]

    def table(self, summary: Summary) -> pa.Table:
        """A row per image set, shift, number ranked by, classifier and severity."""
        keys = ("values", "low", "high", "rank_by_overlap", "rank", "rank_at_most")
        return arrow(
            [
                {
                    **{key: row[key] for key in ("image_set", "nuisance", "by", "unit", "images")},
                    "classifier": each["classifier"],
                    "severity": severity,
                    **{key.removesuffix("s") if key == "values" else key: each[key][place] for key in keys},
                }
                for row in summary["results"]
                for each in row["classifiers"]
                for place, severity in enumerate(row["severities"])
            ]
        )

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        by = [row for row in run.summary["results"] if row["by"] == "accuracy"]
        said = [
            f"Under {row['nuisance']}, rankings change along the scale: {words.swap(row, row['swaps'][0])}."
            for row in by
            if row["swaps"]
        ]
        if not said and by:
            return [finding(_steady(by), LESS)]
        return [finding(text, LEADS) for text in said[:MOST_FINDINGS]]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        results = run.summary["results"]
        shifts = [list(rows) for _, rows in groupby(results, lambda row: (row["image_set"], row["nuisance"]))]
        drop, first = ("A", Styled("0", "sub"), " − A", Styled("s", "sub")), results[0]
        return [
            Sentence(
                (
                    "Classifiers ranked at every severity, by accuracy (figure 7 of CNS-Bench 2025) and by drop, ",
                    *drop,
                    " (figure 6). A rank is 1 + the number of classifiers that are better: by the paper’s rule, those "
                    "whose interval lies wholly above; by tests, those that are significantly better on the same "
                    f"images ({words.how(first)}).",
                )
            ),
            *(_shift(run, rows, place < MOST_OPEN) for place, rows in enumerate(shifts)),
            *remarks(
                "A rank is 1 + the number of classifiers that are better beyond noise.",
                LIMITS,
                f"the shifts and severities, the number of images ({first['images']}) and the rule for ties",
                (CNS_BENCH_2025, MCNEMAR_1947, HOLM_1979),
            ),
        ]


def _steady(rows: Sequence[Row]) -> str:
    changing = sum(row["changing_places"] for row in rows)
    over = listed([row["nuisance"] for row in rows])
    if changing:
        pairs = f"{counted(changing, 'pair')} of classifiers {'changes' if changing == 1 else 'change'}"
        return f"Under {over}, {pairs} places along the scale, none by more than noise."
    return f"Under {over}, rankings by accuracy are the same at every severity."


def _printed(row: Row) -> Group:
    count, most = len(row["severities"]), PRINTED_COLUMNS
    some = {round(place * (count - 1) / (most - 1)) for place in range(most)} if count > most else range(count)
    about = (
        f" under {row['nuisance']} on {row['image_set']}, {counted(row['images'], 'image')}: {row['by']} (rank) at "
        f"each {row['unit']}"
    )
    more = len(row["swaps"]) - PRINTED_SWAPS
    return Group(
        (Styled(f"Ranking {BY[row['by']]}"), about),
        (
            _table(row, "", sorted(some), 2),
            Sentence(sentence(words.changes(row))),
            *(Sentence(f"  {words.swap(row, pair)}") for pair in row["swaps"][:PRINTED_SWAPS]),
            *([Sentence(f"  … and {more} more pairs")] if more > 0 else []),
        ),
    )


def _table(row: Row, title: str, places: Sequence[int], digits: int) -> Table:
    """A row per classifier, a column per severity: 0.85 (1–3)."""

    def at(place: int) -> Titled:
        def cell(each: Row) -> TableCell:
            value = round(each["values"][place], digits) + 0.0  # no −0.00
            rank = words.rank(each["rank"][place], each["rank_at_most"][place])
            return Estimate(value, places=digits), " ", Styled(f"({rank})", "soft")

        return f"{row['severities'][place]:g}", cell

    return table(words.in_order(row), (title, who), *map(at, places), shown=PRINTED_ROWS, noun="classifier")


def _shift(run: MeasureRun, rows: Sequence[Row], unfolded: bool) -> Group:
    """Both rankings of one shift."""
    alone = [Sentence("Nothing is ranked by drop, since there are no images at scale 0.", "note")]
    title = with_set(run, rows[0]["nuisance"], rows[0]["image_set"])
    return Group(title, (*(alone if len(rows) == 1 else ()), *(_ranking(row, unfolded) for row in rows)))


def _ranking(row: Row, unfolded: bool) -> Group:
    ordered = words.in_order(row)
    scores = {each["classifier"]: -place for place, each in enumerate(ordered)}
    shown = some_of([each["classifier"] for each in ordered], scores)
    more = len(row["swaps"]) - MOST_SWAPS
    return Group(
        f"Ranking {BY[row['by']]}: {words.changes(row)}",
        (
            _bump_chart(row, [each for each in ordered if each["classifier"] in shown]),
            *(Sentence(f"{words.swap(row, pair)}.", "item") for pair in row["swaps"][:MOST_SWAPS]),
            *([Sentence(f"… and {more} more pairs, in summary.json.", "item")] if more > 0 else []),
            _table(row, f"{row['by']} and rank at {row['unit']}", range(len(row["severities"])), 3),
            Sentence(
                f"{row['images']} images, {counted(row['paths'], 'path')} each. Ranks by tests; 1–3 is a rank that "
                f"tests leave open. {words.differing(row)}.",
                "note",
            ),
        ),
        "open" if unfolded else "closed",
    )


def _bump_chart(row: Row, chosen: Sequence[Row]) -> Figure:
    """One line per classifier, the best on top; on the right, bars reach over the ranks that tests leave open,
    where classifiers are few."""
    count, severities = len(row["classifiers"]), row["severities"]
    x = Axis(row["unit"], _ticks(severities) if len(severities) <= MOST_TICKS else None)
    ranks = range(1, count + 1) if count <= MOST_TICKS else [1, *range(5, count + 1, 5)]
    y = Axis(f"rank {BY[row['by']]}", _ticks(ranks), 0.4, count + 0.6, falling=True, grid=True)
    bars = "; bars: ranks left open" if len(chosen) <= MOST_BARS else ""
    overlap = f"ties: intervals of ±{row['sigma']:g} standard error{'s' * (row['sigma'] != 1)} overlap"
    names = ", ".join(each["classifier"] for each in chosen)
    return Figure(
        f"rank {BY[row['by']]} of {names} against {row['unit']}",
        (
            Panel(tuple(_lines(severities, chosen, "rank_by_overlap")), x, y, overlap),
            Panel(tuple(_lines(severities, chosen, "rank")), x, y, f"ties: paired tests, corrected{bars}"),
        ),
        "A line per classifier, the best on top; where lines cross, two change places, which on the right takes a "
        "test. Lines that share a rank lie side by side."
        + (f" Of {count} classifiers {len(chosen)} are drawn." if len(chosen) < count else ""),
        height=min(7.2, 2.0 + 0.28 * count),
        share="y",
    )


def _ticks(values: Sequence[float]) -> tuple[tuple[float, str], ...]:
    return tuple((value, f"{value:g}") for value in values)


def _lines(severities: Sequence[float], chosen: Sequence[Row], key: str) -> Iterator[Mark]:
    step = min((after - before for before, after in itertools.pairwise(severities)), default=1.0)
    tests = key == "rank"
    for place, each in enumerate(chosen):
        # Lines that share a rank lie side by side, and so do bars, each over its own severity.
        off = (place + 0.5) / len(chosen) - 0.5
        at = tuple(severity + 0.5 * step * off * tests for severity in severities)
        if tests and len(chosen) <= MOST_BARS:
            low, high = (tuple(rank + APART * off for rank in each[end]) for end in ("rank", "rank_at_most"))
            yield Intervals(who(each), at, low, high)
        yield Line(who(each), at, tuple(rank + APART * off for rank in each[key]), markers=True)
