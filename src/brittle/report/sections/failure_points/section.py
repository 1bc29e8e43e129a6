"""The section of the measure `failure-points`."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from brittle.report.blocks import Block, Cell, Group, Sentence, Weighted
from brittle.report.blocks.text import Estimate, Styled, Text
from brittle.report.blocks.wording import bounded, plain, points
from brittle.report.page.choose_few import some_of
from brittle.report.page.section import MeasureRun, Row, Summary, compared
from brittle.report.page.words import EVERYTHING, counted, listed, percent, sentence
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection, finding, remarks
from brittle.report.sections.comparisons import MOST_PRINTED, against, at_once, better, both, capped, minus, tie_or
from brittle.report.sections.distortion import distortion_blocks, distortion_line
from brittle.report.sections.failure_points import tables, words
from brittle.report.sections.failure_points.figures import class_figure, curve_figure, histogram_figure
from brittle.report.sections.failure_points.pictures import films
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.grouped import cells, with_set
from brittle.report.sections.references import CNS_BENCH_2025, HENDRYCKS_2019, WAUDBY_SMITH_2023

LEADS, ASIDE = 0.5, 0.35  # how much a finding matters
MOST_FINDINGS = 3
MOST_PARTS = 3  # nuisances in one sentence
MOST_TOLD = 4  # classifiers of which more than a row is printed
SIDE_BY_SIDE = 4  # classifiers in a histogram or a map of classes
A_SINK, MANY = 0.5, 20  # the share of failures that fall into one label, of at least so many, that is worth a sentence
DETAILS = ("severities", "classes")
LIMITS = (
    "A failure point belongs to one path on a grid of severities: between two of them an image may be wrong and right "
    "again unseen, and with another draw it fails elsewhere.",
    "The mean failure point is restricted to the last severity, and is of images that are right at 0: a classifier "
    "that gets only easy images right can have the higher mean. Read accuracy at each severity beside it.",
    "Severities of different nuisances are not the same amount of change: an average over nuisances depends on which "
    "were chosen.",
    "A strong change can destroy what the label names; then being wrong is not a fault. Look at the pictures.",
)
DEFINITION: Text = (
    "The first severity at which a prediction is wrong: ", Styled("s", "emphasis"), " = min{", Styled("S", "emphasis"),
    " | ", Styled("f", "emphasis"), "(", Styled("X", "emphasis"), "(", Styled("S", "emphasis"), ")) ≠ ",
    Styled("c", "emphasis"), "} (CNS-Bench, equation 3). Along a path nothing but severity changes; severity 0 is the "
    "image itself.",
)  # fmt: skip


@register("failure-points")
class FailurePointsSection(BaseSection):
    """Where predictions become wrong along severity, accuracy on the way, and what that looks like."""

    title = "Failure points"

    def brief(self, summary: Summary) -> Sequence[Block]:
        pooled = (Sentence(_over_nuisances(each)) for each in summary["pooled"][:MOST_PRINTED])
        return [
            *(_printed(rows, pairs) for rows, pairs in cells(summary)),
            *pooled,
            Sentence(_closing(summary["results"])),
            *distortion_line(summary),
        ]

    def table(self, summary: Summary) -> pa.Table:
        """A row per classifier, image set, nuisance and severity."""
        rows = []
        for row in summary["results"]:
            about = {key: value for key, value in row.items() if key not in DETAILS}
            rows += [flat(about | {k: v for k, v in entry.items() if k != "falls"}) for entry in row["severities"]]
        return arrow(rows)

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        told: dict[tuple[str, str, str], list[str]] = {}
        for rows, pairs in cells(run.summary):
            for pair in pairs:
                if better(pair) is not None:
                    about = pair["image_set"], pair["first"], pair["second"]
                    told.setdefault(about, []).append(_later(pair, rows[0]))
        said = [
            finding(sentence("; ".join(parts[:MOST_PARTS])), LEADS, compared(*about)) for about, parts in told.items()
        ]
        alone = [finding(_alone(row), LEADS) for row in run.summary["results"][:2] if row["mean"] is not None]
        return [*(said[:MOST_FINDINGS] or alone), *_common_failures(run)]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        first = run.summary["results"][0]
        return [
            Sentence(DEFINITION),
            *(_part(run, rows, pairs) for rows, pairs in cells(run.summary)),
            *([_pooled(run)] if run.summary["pooled"] else []),
            *remarks(
                "A failure point is the first severity at which a prediction is wrong. Intervals in brackets: "
                f"{percent(first['confidence'])}.",
                LIMITS,
                f"the severities ({words.grid(first)}; {first['unit']}), {counted(first['repeats'], 'path')} per image",
                (CNS_BENCH_2025, HENDRYCKS_2019, WAUDBY_SMITH_2023),
            ),
        ]


def _later(pair: Row, row: Row) -> str:
    (later, sooner), ends = both(pair), pair["interval"]
    ends = ends if better(pair) == pair["first"] else [-end for end in reversed(ends)]
    by = plain((bounded(abs(pair["difference"]), ends, places=words.places(row)),))
    return f"under {pair['nuisance']} {later} fails later than {sooner}, by {by} ({row['unit']})"


def _alone(row: Row) -> Text:
    return (
        f"Under {row['nuisance']}, {row['classifier']} fails at ",
        Estimate(row["mean"], places=words.places(row)),
        f" on average ({row['unit']}; {words.mean_is(row)}), and ",
        Estimate(row["never"], places=1, format="percent"),
        " of the images never fail.",
    )


def _common_failures(run: MeasureRun) -> list[Weighted]:
    """Where failures have one name (CNS-Bench, section 5.3: "comic book" under a cartoon style)."""
    found = [(sink, row) for row in run.summary["results"] if (sink := words.common_failure(row)) is not None]
    worth = [(sink, row) for sink, row in found if sink.share >= A_SINK and sink.failures >= MANY]
    said = []
    for sink, row in sorted(worth, key=lambda each: -each[0].share)[:1]:
        name = run.whole.label_names(row["classifier"], row["image_set"])(sink.label)
        text = (
            f"Under {row['nuisance']}, ",
            Estimate(sink.share, places=1, format="percent"),
            f" of the {sink.failures} first failures of {row['classifier']} fall into one label: {name}.",
        )
        said.append(finding(text, ASIDE))
    return said


def _some(rows: Sequence[Row], **most: int) -> list[Row]:
    means = {row["classifier"]: row["mean"] or 0.0 for row in rows}
    chosen = some_of(list(means), means, **most)
    return [row for row in rows if row["classifier"] in chosen]


def _printed(rows: Sequence[Row], pairs: Sequence[Row]) -> Group:
    first, some = rows[0], _some(rows)
    more = f"… and {len(rows) - len(some)} more classifiers ({EVERYTHING})"
    about = f" on {first['image_set']}, {first['images']} images: where predictions become wrong"
    return Group(
        (Styled(first["nuisance"]), about),
        (
            tables.briefly(rows),
            Sentence(f"{'accuracy' if first['only'] is None else 'share failed'} at each {first['unit']}:"),
            tables.along(some),
            *[Sentence(more)] * (len(rows) > len(some)),
            *capped([_difference(first, pair) for pair in pairs], "difference"),
            *(Sentence((f"{row['classifier']}: ", *said)) for row in rows[:MOST_TOLD] if (said := _aside(row))),
            Sentence(words.how(first)),
        ),
    )


def _difference(row: Row, pair: Row) -> Text:
    if pair["difference"] is None:
        return f"{minus(pair)}: no image is right for all classifiers"
    over = f"{minus(pair)}, paired over {words.common(row, pair['images'])}: "
    return over, words.difference(row, pair), f"{at_once(pair)}, {tie_or(pair, 'fails later')}"


def _aside(row: Row) -> tuple[str | Estimate, ...]:
    sink, saved = words.common_failure(row), words.saved(row) if row["calls_saved"] else ""
    if sink is None:
        return (saved,) if saved else ()
    into = Estimate(sink.share, places=1, format="percent")
    return f"failures most often fall into {sink.label} (", into, f" of {sink.failures})", f"; {saved}" * bool(saved)


def _over_nuisances(each: Row) -> Text:
    return (
        f"{each['classifier']} on {each['image_set']}, over images with {listed(each['nuisances'])} pooled: mean drop ",
        points(each, "drop"),
        " points",
    )


def _closing(rows: Sequence[Row]) -> str:
    first = rows[0]
    drop = "drop: accuracy at 0 minus accuracy there, in points; " if any(map(words.drops, rows)) else ""
    return (
        f"{percent(first['confidence'])} intervals over images. mean: {words.mean_is(first)}, {words.over(first)}; "
        f"never: right at every severity; recovered: wrong, then right further along; {drop}seed {first['seed']}."
    )


def _part(run: MeasureRun, rows: Sequence[Row], pairs: Sequence[Row]) -> Group:
    """Everything of one image set under one nuisance."""
    first, images, nuisance = rows[0], rows[0]["image_set"], rows[0]["nuisance"]
    some, few = _some(rows), _some(rows, most=SIDE_BY_SIDE)
    blocks: list[Block] = [
        tables.about(first),
        curve_figure(some, len(rows)),
        tables.in_full(rows),
        *([Sentence(_narrowed(first["refined"]), "note")] if first["refined"] else []),
        *distortion_blocks(run.summary, images, nuisance),
        Group("When images fail", (histogram_figure(few, len(rows)),)),
    ]
    if pairs:
        best = max(rows, key=lambda row: row["mean"] or 0.0)["classifier"]
        over = "the images that both get right at 0" if words.origin(first) else "all images"
        differences = against(pairs, best, "fails", *tables.differences(first))
        blocks.append(Group(f"Differences, paired over {over}", tuple(differences)))
    if shown := films(run, few):
        blocks.append(Group("Along the path", tuple(shown)))
    if len(first["classes"]) > 1:
        blocks.append(Group("Classes along severity", (class_figure(few),)))
    names = {row["classifier"]: run.whole.label_names(row["classifier"], images) for row in few}
    blocks.append(Group("Numbers at each severity", tuple(tables.by_severity(few, names)), "closed"))
    return Group(with_set(run, nuisance, images), tuple(blocks), about=Cell(images, nuisance))


def _narrowed(refined: Row) -> str:
    return (
        "Narrowed: bisection between the last severity that is right and the first that is wrong, to "
        f"{refined['tolerance']:g}. It finds a crossing in that bracket, not necessarily the first."
    )


def _pooled(run: MeasureRun) -> Group:
    note = (
        "Drops averaged over images, every path of every nuisance counting once. The same image under several "
        "nuisances is one value for the interval."
    )
    return Group(
        "All nuisances pooled",
        (Sentence(note, "note"), tables.pooled(run.summary["pooled"], run.many_sets)),
        key="pooled",
    )
