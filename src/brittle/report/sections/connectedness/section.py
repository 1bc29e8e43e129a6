"""The section of the measure `connectedness`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from brittle.report.blocks import (
    Block,
    ClassifierName,
    Count,
    Estimate,
    Group,
    Sentence,
    Styled,
    Table,
    TableCell,
    Weighted,
)
from brittle.report.blocks.wording import estimate
from brittle.report.page.section import MeasureRun, Summary
from brittle.report.page.words import sentence
from brittle.report.renderers.console import EVERYTHING
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection
from brittle.report.sections.connectedness import words
from brittle.report.sections.connectedness.figures import bubble_figure
from brittle.report.sections.connectedness.pictures import films
from brittle.report.sections.connectedness.words import Row
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.references import UREM, WAUDBY_SMITH_2023

LEADS = 0.35  # how much a finding matters
MOST_DRAWN = 40  # classes in the figure
MOST_PRINTED = 20  # classes on the console
MOST_RESULTS = 8  # class by class on the console
MOST_PAIRS = 10  # of classifiers
PRINTED = (
    *("class", "right", "bubbles", "sizes", "weakly", "candidate"),
    *("straight", "curved", "unknown", "least margin"),
)
SHOWN = (
    *("class", "right", "bubbles, at most", "sizes", "weakly generalised", "candidate for strongly"),
    *("straight", "curved", "unknown", "least margin on a path"),
)
WHAT = (
    "Which images of a class lie in one region, a bubble, that the classifier gives that class (UREM, sections 1 and "
    "3). Two images are connected by their straight segment if it stays inside, or else by a curved path along which "
    "the log-odds run evenly from those of one image to those of the other. Unknown pairs count as separate: the "
    "number of bubbles is an upper bound. UREM speaks of training images; these are the images that were given."
)
PATHS = (
    "From one image to another of its class, evenly in t; beneath each picture the margin, z of the class minus the "
    "greatest of the others, which stays positive all the way. Pixels beyond [0, 1] are shown clipped."
)
LIMITS = (
    "Unknown is not disconnected: a path that was not found may exist, so the number of bubbles is an upper bound.",
    "In high dimension straight segments connect nearly everything of a class: that its images lie in one bubble says "
    "little about how far its border is, and nothing about whether the bubble holds only images of the class.",
    "Paths are checked at many points, not everywhere: a thinner gap than their spacing may be missed.",
    "A path leads through pictures that need not look like anything of the class.",
)


@register("connectedness")
class ConnectednessSection(BaseSection):
    """Which images of a class lie in one region that the classifier gives that class."""

    title = "Connectedness"

    def brief(self, summary: Summary) -> Sequence[Block]:
        results, pairs = summary["results"], summary["comparisons"]
        each_class = len(results) <= MOST_RESULTS
        more = f"… and {len(pairs) - MOST_PAIRS} more differences ({EVERYTHING})"
        return [
            *(_printed(row, _classes(summary, row) if each_class else ()) for row in results),
            *(Sentence(words.difference(pair)) for pair in pairs[:MOST_PAIRS]),
            *([Sentence(more)] if len(pairs) > MOST_PAIRS else []),
            *map(Sentence, words.meanings(summary["classes"])),
            Sentence(
                "Unknown does not mean disconnected: the number of bubbles is an upper bound, and has no interval. "
                f"UREM speaks of training images; these are the images given. Seed {results[0]['seed']}."
            ),
        ]

    def table(self, summary: Summary) -> pa.Table:
        """A row per classifier, image set and class."""
        return arrow([flat({k: v for k, v in row.items() if k != "components"}) for row in summary["classes"]])

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        said = [
            f"{row['classifier']} gives {row['in_one_bubble']} of {row['measured_classes']} classes in one piece, "
            f"judging by {row['right']} images that it gets right ({words.bubbles(row)} in all); {words.straight(row)}."
            for row in run.summary["results"][:2]
        ]
        return [Weighted(Sentence(text, "finding"), LEADS) for text in said]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        summary = run.summary
        return [
            Sentence(WHAT),
            _totals(summary["results"], run.many_sets),
            *(Sentence(sentence(words.difference(pair))) for pair in summary["comparisons"][:MOST_PAIRS]),
            *(_part(run, row) for row in summary["results"]),
            Sentence(" ".join(words.meanings(summary["classes"])), "note"),
            Sentence(
                "A bubble is a region that the classifier gives one class; images are in the same one if a path "
                "connects them without leaving it.",
                "definition",
            ),
            *(Sentence(text, "limit") for text in LIMITS),
            Sentence("how many images of each class, and that unknown pairs count as separate", "citation"),
            *(Sentence(text, "reference") for text in (UREM, WAUDBY_SMITH_2023)),
        ]


def _classes(summary: Summary, row: Row) -> list[Row]:
    """What is said of each class of one classifier and image set."""
    names = ("classifier", "image_set")
    return [each for each in summary["classes"] if all(each[name] == row[name] for name in names)]


def _printed(row: Row, classes: Sequence[Row]) -> Group:
    blocks: list[Block] = []
    if row["misclassified"]:
        blocks.append(Sentence(f"{row['misclassified']} are misclassified and have no bubble"))
    if classes:
        blocks.append(_each_class(classes, PRINTED, "smallest change", words.with_changes(classes)))
    blocks += [Sentence(words.straight(row)), Sentence(f"{words.pairs(row)}; {words.outside(row)}")]
    about = (
        f" on {row['image_set']}: {row['right']} of {row['images']} images in {words.bubbles(row)}; "
        f"{row['in_one_bubble']} of {row['measured_classes']} classes are one bubble"
    )
    return Group((Styled(row["classifier"]), about), tuple(blocks))


def _each_class(classes: Sequence[Row], columns: tuple[str, ...], change: str, known: bool) -> Table:
    """A row per class, with the smallest changes where they are known."""
    return Table(
        (*columns, *([change] if known else [])),
        tuple((*_class(row), *([words.changes(row)] if known else [])) for row in classes),
        shown=MOST_PRINTED,
        noun="class",
    )


def _class(row: Row) -> Iterator[TableCell]:
    yield row["class"]
    yield Count(row["right"], row["images"])
    yield Count(row["bubbles"])
    yield words.sizes(row["sizes"])
    yield Count(row["weakly_generalised"])
    yield "yes" if row["candidate"] else "no"
    yield from (Count(row[how]) for how in ("straight", "curved", "unknown"))
    yield Estimate(row["least_margin"], places=2)


def _totals(results: Sequence[Row], many_sets: bool) -> Table:
    return Table(
        (
            *("classifier", *(["images"] if many_sets else []), "right", "classes in one bubble", "bubbles, at most"),
            *("images alone", "straight share of random pairs", "pairs tried", "straight", "curved", "unknown"),
        ),
        tuple(
            (
                ClassifierName(row["classifier"]),
                *([row["image_set"]] if many_sets else []),
                Count(row["right"], row["images"]),
                Count(row["in_one_bubble"], row["measured_classes"]),
                Count(row["bubbles"]),
                Count(row["alone"]),
                estimate(row, "straight_share"),
                *(Count(row[how]) for how in ("pairs", "straight", "curved", "unknown")),
            )
            for row in results
        ),
    )


def _part(run: MeasureRun, row: Row) -> Group:
    """Everything of one classifier on one image set."""
    classes = _classes(run.summary, row)
    more = len(classes) - MOST_DRAWN
    cut = f"; {more} more classes are in the table" if more > 0 else ""
    reading = f"Images of each class in its bubbles, the largest first{cut}. {words.ways(row)}"
    known = words.with_changes(run.summary["classes"])
    blocks: list[Block] = [
        bubble_figure(classes[:MOST_DRAWN], reading),
        _each_class(classes, SHOWN, "smallest targeted change", known),
    ]
    if paths := films(run, row["classifier"], row["image_set"]):
        blocks.append(Group("Connecting paths", (Sentence(PATHS, "note"), *paths)))
    on = f", on {row['image_set']}" if run.many_sets else ""
    return Group(f"{row['classifier']}{on}", tuple(blocks))
