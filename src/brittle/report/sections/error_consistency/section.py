"""The section of the measure `error-consistency`."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.blocks import Block, Group, Sentence
from brittle.report.blocks.figure import Cells, Figure, category_axis
from brittle.report.blocks.text import Estimate, Styled
from brittle.report.blocks.wording import plain, share
from brittle.report.page.section import MeasureRun, Row, Summary
from brittle.report.page.words import counted, percent
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection, remarks
from brittle.report.sections.comparisons import FIRST, MOST_PAIRS, SECOND, capped
from brittle.report.sections.grouped import by_set, of_set, on_set
from brittle.report.sections.marks import chart
from brittle.report.sections.references import GEIRHOS_2020
from brittle.report.sections.tables import count, part, table

MOST_NUMBERED = 16  # deciders up to whom every κ is written down
MOST_TOLD = 20  # pairs in words
MOST_IN_FIGURE = 40  # deciders in a matrix of κ
LIMIT = "Error consistency says that errors fall on the same images, not that the wrong answers are the same."
NOTHING = dict.fromkeys(("images", "observed", "expected"))  # is known of means over people


@register("error-consistency")
class ErrorConsistencySection(BaseSection):
    """Whose errors are alike."""

    title = "Whose errors are alike"
    listed = "results"

    def brief(self, summary: Summary) -> Sequence[Block]:
        first = summary["results"][0]
        closing = f"{percent(first['confidence'])} intervals of κ by bootstrap ({first['resamples']} draws)"
        return [
            *(_printed(summary, images, pairs) for images, pairs in by_set(summary["results"]).items()),
            Sentence(f"{closing}; seed {first['seed']}."),
        ]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        return [
            *(_part(run, images, pairs) for images, pairs in by_set(run.summary["results"]).items()),
            *remarks(
                "Error consistency κ: how much more often than by chance two are wrong on the same images.",
                (LIMIT,),
                references=(GEIRHOS_2020,),
            ),
        ]


def _printed(summary: Summary, images: str, pairs: Sequence[Row]) -> Group:
    title = Styled("Error consistency"), f" κ on {images} (1: wrong on the same images, 0: as chance has it):"
    people = [_people(each) for each in of_set(summary["people"], images)]
    return Group(title, (*capped([_consistency(pair) for pair in pairs]), *capped(people)))


def _consistency(pair: Row) -> str:
    observed, expected = (plain((share(pair, key, places=1),)) for key in ("observed", "expected"))
    return (
        f"{pair['first']} and {pair['second']}: {plain((_kappa(pair),))}, both right or both wrong on {observed} of "
        f"{counted(pair['images'], 'image')}, {expected} by chance"
    )


def _people(row: Row) -> str:
    who = "people with one another" if row["decider"] == "people" else f"{row['decider']} with people"
    return f"{who}, mean over {row['people']}: {plain((_kappa(row),))}"


def _part(run: MeasureRun, images: str, pairs: Sequence[Row]) -> Group:
    """Everything of one image set."""
    deciders, people = of_set(run.summary["deciders"], images), of_set(run.summary["people"], images)
    shown = pairs[:MOST_PAIRS]
    more = f" {len(shown)} of {len(pairs)} pairs; all are in summary.json." if len(pairs) > len(shown) else ""
    return Group(
        on_set(run, images, "Error consistency"),
        (
            Sentence(
                "Cohen’s κ between the errors of two (Geirhos et al. 2020): 1 where they are wrong on the same images, "
                "0 where only as often as independent errors at their accuracies would be."
            ),
            *([_figure(pairs)] if 3 <= len(deciders) <= MOST_IN_FIGURE else []),
            table(
                [*shown, *map(_with_people, people)],
                FIRST,
                SECOND,
                ("images", count("images")),
                ("both right or both wrong", part("observed")),
                ("by chance", part("expected")),
                ("κ", _kappa),
            ),
            Sentence(f"{percent(pairs[0]['confidence'])} bootstrap intervals, each on its own.{more}", "note"),
        ),
    )


def _with_people(row: Row) -> Row:
    whom = "one another" if row["decider"] == "people" else "people"
    return {**NOTHING, **row, "first": row["decider"], "second": f"{whom}, mean over {row['people']}"}


def _kappa(pair: Row, *, bounds: bool = True) -> Estimate:
    """0.68 [0.57, 0.77]"""
    low, high = (pair["interval"] if bounds else None) or (None, None)
    return Estimate(pair["kappa"], low, high, places=2, missing="undefined")


def _figure(pairs: Sequence[Row]) -> Figure:
    """Cohen's κ of every pair, as a matrix."""
    names = list(dict.fromkeys(name for pair in pairs for name in (pair["first"], pair["second"])))
    found = {(pair["second"], pair["first"]): pair["kappa"] for pair in pairs}
    values = tuple(tuple(found.get((below, above)) for above in names[:-1]) for below in names[1:])
    texts = tuple(tuple("" if v is None else plain((Estimate(v, places=2),)) for v in row) for row in values)
    cells = Cells(values, texts=texts if len(names) <= MOST_NUMBERED else (), label="κ")
    told = "; ".join(
        f"{pair['first']} and {pair['second']} {plain((_kappa(pair, bounds=False),))}" for pair in pairs[:MOST_TOLD]
    )
    axes = category_axis(names[:-1], slanted=len(names) > 4), category_axis(names[1:], falling=True)
    return chart(
        f"error consistency κ. {told}",
        [cells],
        *axes,
        "κ of the two deciders of a row and a column: 1, the same images are wrong; 0, as many in common as chance "
        "gives; empty where κ is not defined.",
        height=min(9.0, 0.9 + 0.42 * len(names)),
    )
