"""The section of the measure `connectedness`."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.blocks import Block, Group, Sentence, Table, Weighted
from brittle.report.blocks.text import Styled
from brittle.report.page.section import MeasureRun, Row, Summary
from brittle.report.page.words import sentence
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection, finding, remarks
from brittle.report.sections.comparisons import MOST_PRINTED, capped
from brittle.report.sections.connectedness import words
from brittle.report.sections.connectedness.figures import bubble_figure, films
from brittle.report.sections.grouped import with_set
from brittle.report.sections.references import UREM, WAUDBY_SMITH_2023
from brittle.report.sections.tables import WHO, bare, count, estimated, table, text

LEADS = 0.35  # how much a finding matters
MOST_DRAWN = 40  # classes in the figure
MOST_CLASSES = 20  # on the console
MOST_RESULTS = 8  # class by class on the console
BRIEF = (  # what columns are called on the console
    *("class", "right", "bubbles", "sizes", "weakly", "candidate", "straight", "curved", "unknown", "least margin"),
    "smallest change",
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
    listed, without = "classes", ("components",)

    def brief(self, summary: Summary) -> Sequence[Block]:
        results, pairs = summary["results"], summary["comparisons"]
        each_class = len(results) <= MOST_RESULTS
        return [
            *(_printed(row, _classes(summary, row) if each_class else ()) for row in results),
            *capped([words.difference(pair) for pair in pairs], "difference"),
            *map(Sentence, words.meanings(summary["classes"])),
            Sentence(
                "Unknown does not mean disconnected: the number of bubbles is an upper bound, and has no interval. "
                f"UREM speaks of training images; these are the images given. Seed {results[0]['seed']}."
            ),
        ]

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        said = [
            f"{row['classifier']} gives {row['in_one_bubble']} of {row['measured_classes']} classes in one piece, "
            f"judging by {row['right']} images that it gets right ({words.bubbles(row)} in all); {words.straight(row)}."
            for row in run.summary["results"][:2]
        ]
        return [finding(text, LEADS) for text in said]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        summary = run.summary
        return [
            Sentence(WHAT),
            _totals(summary["results"], run.many_sets),
            *(Sentence(sentence(words.difference(pair))) for pair in summary["comparisons"][:MOST_PRINTED]),
            *(_part(run, row) for row in summary["results"]),
            Sentence(" ".join(words.meanings(summary["classes"])), "note"),
            *remarks(
                "A bubble is a region that the classifier gives one class; images are in the same one if a path "
                "connects them without leaving it.",
                LIMITS,
                "how many images of each class, and that unknown pairs count as separate",
                (UREM, WAUDBY_SMITH_2023),
            ),
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
        blocks.append(_each_class(classes, words.with_changes(classes), BRIEF))
    blocks += [Sentence(words.straight(row)), Sentence(f"{words.pairs(row)}; {words.outside(row)}")]
    about = (
        f" on {row['image_set']}: {row['right']} of {row['images']} images in {words.bubbles(row)}; "
        f"{row['in_one_bubble']} of {row['measured_classes']} classes are one bubble"
    )
    return Group((Styled(row["classifier"]), about), tuple(blocks))


def _each_class(classes: Sequence[Row], changed: bool, titles: Sequence[str] = ()) -> Table:
    """A row per class, with the smallest changes where they are known."""
    columns = [
        ("class", text("class")),
        ("right", count("right", "images")),
        ("bubbles, at most", count("bubbles")),
        ("sizes", lambda row: words.sizes(row["sizes"])),
        ("weakly generalised", count("weakly_generalised")),
        ("candidate for strongly", lambda row: "yes" if row["candidate"] else "no"),
        ("straight", count("straight")),
        ("curved", count("curved")),
        ("unknown", count("unknown")),
        ("least margin on a path", bare("least_margin", 2)),
        *[("smallest targeted change", words.changes)] * changed,
    ]
    named = (titles or [title for title, _ in columns])[: len(columns)]
    shown = ((title, making) for title, (_, making) in zip(named, columns, strict=True))
    return table(classes, *shown, shown=MOST_CLASSES, noun="class")


def _totals(results: Sequence[Row], many_sets: bool) -> Table:
    return table(
        results,
        WHO,
        *[("images", text("image_set"))] * many_sets,
        ("right", count("right", "images")),
        ("classes in one bubble", count("in_one_bubble", "measured_classes")),
        ("bubbles, at most", count("bubbles")),
        ("images alone", count("alone")),
        ("straight share of random pairs", estimated("straight_share")),
        ("pairs tried", count("pairs")),
        *((how, count(how)) for how in ("straight", "curved", "unknown")),
    )


def _part(run: MeasureRun, row: Row) -> Group:
    """Everything of one classifier on one image set."""
    classes = _classes(run.summary, row)
    more = len(classes) - MOST_DRAWN
    cut = f"; {more} more classes are in the table" if more > 0 else ""
    reading = f"Images of each class in its bubbles, the largest first{cut}. {words.ways(row)}"
    blocks: list[Block] = [
        bubble_figure(classes[:MOST_DRAWN], reading),
        _each_class(classes, words.with_changes(run.summary["classes"])),
    ]
    if paths := films(run, row["classifier"], row["image_set"]):
        blocks.append(Group("Connecting paths", (Sentence(PATHS, "note"), *paths)))
    return Group(with_set(run, row["classifier"], row["image_set"]), tuple(blocks))
