"""The section of the measure `breaking-points`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import pyarrow as pa

from brittle.report.blocks import (
    Block,
    Cell,
    ClassifierName,
    Count,
    Estimate,
    Group,
    Sentence,
    Styled,
    Table,
    Text,
    Verdict,
    Weighted,
)
from brittle.report.blocks.wording import estimate, share
from brittle.report.page.section import MeasureRun, Summary, compared
from brittle.report.page.words import listed, percent
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection
from brittle.report.sections.breaking_points import words
from brittle.report.sections.breaking_points.figures import survival_figure
from brittle.report.sections.breaking_points.pictures import at_the_break
from brittle.report.sections.breaking_points.words import Row
from brittle.report.sections.comparisons import against, at_once, better, printed
from brittle.report.sections.distortion import distortion_blocks, distortion_line
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.references import CLOPPER_PEARSON_1934, UREM, WAUDBY_SMITH_2023

LEADS = 0.45  # how much a finding matters
MOST_FINDINGS = 3
MOST_FLOWS, PRINTED_FLOWS = 5, 3
MOST_TOLD = 4  # classifiers of which flows are told
DETAILS = ("flows", "survival")
LIMITS = (
    "A breaking point says when the prediction first changes along one path, not how often it is wrong at a severity; "
    "predictions may come back further along.",
    "Noise that is independent from pixel to pixel is a mild, unspecific change in high dimension: a high breaking "
    "point promises nothing about chosen changes.",
    "Numbers for different image sizes, steps or ways of drawing noise can't be compared.",
)


@register("breaking-points")
class BreakingPointsSection(BaseSection):
    """How far severity rises before predictions change, and what that looks like."""

    title = "Breaking points"

    def brief(self, summary: Summary) -> Sequence[Block]:
        return [
            *(_printed(rows, pairs) for rows, pairs in _cells(summary)),
            Sentence(_closing(summary["results"][0])),
            *distortion_line(summary),
        ]

    def table(self, summary: Summary) -> pa.Table:
        """A row per classifier, image set and nuisance."""
        return arrow([flat({k: v for k, v in row.items() if k not in DETAILS}) for row in summary["results"]])

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        apart = [
            Weighted(
                Sentence(_later(rows[0], pair), "finding"),
                LEADS,
                compared(pair["image_set"], pair["first"], pair["second"]),
            )
            for rows, pairs in _cells(run.summary)
            for pair in pairs
            if better(pair) is not None
        ]
        alone = [row for row in run.summary["results"][:2] if row["mean"] is not None]
        return apart[:MOST_FINDINGS] or [Weighted(Sentence(_alone(row), "finding"), LEADS) for row in alone]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        first = run.summary["results"][0]
        unlabelled = " These images have no labels: each counts as correct." if first["reference"] != "label" else ""
        return [
            Sentence(
                "How far severity rises before the prediction leaves the clean prediction (UREM, section 3.1). "
                "Averages are over images that are classified correctly: a classifier’s own, and those that all "
                f"classifiers get right.{unlabelled}"
            ),
            *(_part(run, rows, pairs) for rows, pairs in _cells(run.summary)),
            Sentence(
                "A breaking point is the severity at which the prediction leaves the clean prediction.", "definition"
            ),
            *(Sentence(text, "limit") for text in LIMITS),
            Sentence(
                f"how θ is drawn ({first['noise']}), the step ({first['step']:g}), the limit ({first['limit']:g})",
                "citation",
            ),
            *(Sentence(text, "reference") for text in (UREM, CLOPPER_PEARSON_1934, WAUDBY_SMITH_2023)),
        ]


def _cells(summary: Summary) -> Iterator[tuple[list[Row], list[Row]]]:
    """The results and the comparisons of each image set under each nuisance."""
    for cell, rows in groupby(summary["results"], _cell):
        yield list(rows), [pair for pair in summary["comparisons"] if _cell(pair) == cell]


def _cell(row: Row) -> tuple[str, str]:
    return row["image_set"], row["nuisance"]


def _later(row: Row, pair: Row) -> Text:
    later = better(pair)
    sooner = pair["second"] if later == pair["first"] else pair["first"]
    return (
        f"{later} breaks later than {sooner} under {pair['nuisance']}: by ",
        Estimate(abs(pair["difference"]), places=words.places(row)),
        f" ({words.unit(row)}; {percent(pair['confidence'])} interval of the difference ",
        words.difference(row, pair),
        ").",
    )


def _alone(row: Row) -> Text:
    return (
        f"Under {row['nuisance']}, {row['classifier']} breaks at ",
        Estimate(row["mean"], places=words.places(row)),
        f" on average ({words.unit(row)}; {words.mean_is(row)}).",
    )


def _printed(rows: Sequence[Row], pairs: Sequence[Row]) -> Group:
    first = rows[0]
    about = f" on {first['image_set']}, {first['images']} images: {words.unit(first)} at which predictions change"
    flows = [
        Sentence(
            f"{row['classifier']} most often: "
            + listed(
                [f"{flow['from']} → {flow['to']} {percent(round(flow['share'], 2))}" for flow in row["flows"]][
                    :PRINTED_FLOWS
                ]
            )
        )
        for row in rows[:MOST_TOLD]
        if row["flows"]
    ]
    return Group(
        (Styled(first["nuisance"]), about),
        (
            _short_table(rows),
            *printed(pairs, lambda pair: _difference(first, pair), "difference"),
            *flows,
            Sentence(words.how(first)),
        ),
    )


def _short_table(rows: Sequence[Row]) -> Table:
    of_255, several = rows[0]["of_255"], rows[0]["common"] is not None
    return Table(
        ("", "correct", "mean", *["% of 255"] * of_255, *["common"] * several, "median", "unbroken", "P*"),
        tuple(
            (
                ClassifierName(row["classifier"]),
                Count(row["correct"]),
                words.mean(row),
                *[Estimate(row["percent"], places=1)] * of_255,
                *([Estimate(row["common"]["mean"], places=words.places(row))] if several else ()),
                words.median(row),
                Estimate(row["unbroken"], places=1, format="percent"),
                Estimate(row["p_star"], places=2),
            )
            for row in rows
        ),
        noun="classifier",
    )


def _difference(row: Row, pair: Row) -> Text:
    if pair["difference"] is None:
        return f"{pair['first']} − {pair['second']}: no image is right for all classifiers"
    later = better(pair)
    return (
        f"{pair['first']} − {pair['second']}, paired over {pair['images']} images that both get right: ",
        words.difference(row, pair),
        f"{at_once(pair)}, {'a tie' if later is None else f'{later} breaks later'}",
    )


def _closing(row: Row) -> str:
    fresh = " With noise=fresh breaking points fall as the step shrinks: give the step with them."
    return (
        f"{percent(row['confidence'])} intervals over images ({words.mean_is(row)}), of images classified correctly; "
        "P*: mean probability of the new label at the break; unbroken: paths that held up to the limit; "
        f"seed {row['seed']}.{fresh if row['noise'] == 'fresh' else ''}"
    )


def _part(run: MeasureRun, rows: Sequence[Row], pairs: Sequence[Row]) -> Group:
    """Everything of one image set under one nuisance."""
    first, (images, nuisance) = rows[0], _cell(rows[0])
    never = ": paths that never broke count with the limit, so the mean itself is larger, or infinite"
    about = (
        ("unit", words.unit(first)),
        ("paths", words.how(first)),
        ("mean", f"{words.mean_is(first)}{never if first['unbroken'] else ''}"),
    )
    blocks: list[Block] = [
        Table(("", ""), about, "pairs"),
        survival_figure(rows),
        _table(rows),
        *distortion_blocks(run.summary, images, nuisance),
    ]
    if pairs:
        blocks.append(_differences(rows, pairs))
    if (pictures := at_the_break(run, rows)) is not None:
        blocks.append(_pictures(pictures))
    if any(row["as_confidence"]["breaking_point_auroc"] for row in rows):
        blocks.append(_as_confidence(rows))
    blocks.append(Group("Which labels breaks lead to", (_flows(rows[:MOST_TOLD]),)))
    on = f", on {images}" if run.many_sets else ""
    return Group(f"{nuisance}{on}", tuple(blocks), about=Cell(images, nuisance))


def _table(rows: Sequence[Row]) -> Table:
    of_255, common = rows[0]["of_255"], rows[0]["common"]
    several = common is not None
    return Table(
        (
            *("classifier", "correct", "mean", *["% of 255"] * of_255),
            *([f"mean over the {common['averaged']} images all get right"] if several else ()),
            *("median", "never broke", "P* of the new label", "spread over images", "over repeats"),
        ),
        tuple(
            (
                ClassifierName(row["classifier"]),
                Count(row["correct"], row["images"]),
                words.mean(row),
                *[Estimate(row["percent"], places=1)] * of_255,
                *([words.mean(row, row["common"])] if several else ()),
                words.median(row),
                share(row, "unbroken", places=1),
                estimate(row, "p_star", places=2),
                Estimate(row["spread"], places=words.places(row)),
                Estimate(row["spread_of_repeats"], places=words.places(row)),
            )
            for row in rows
        ),
    )


def _differences(rows: Sequence[Row], pairs: Sequence[Row]) -> Group:
    best = max(rows, key=lambda row: (row["common"] or row)["mean"] or 0.0)["classifier"]
    shown = against(pairs, best)
    table = Table(
        ("first", "second", "first − second", "breaks later"),
        tuple(
            (pair["first"], pair["second"], words.difference(rows[0], pair), Verdict(better(pair))) for pair in shown
        ),
    )
    cut = Sentence(f"Against {best}, which breaks last; all pairs are in summary.json.", "note")
    return Group("Differences, paired over the images that both get right", (*[cut] * (len(shown) < len(pairs)), table))


def _pictures(pictures: Block) -> Group:
    note = (
        "Images that all shown classifiers get right, from those that break first to those that break last. Left the "
        "image; then, for each classifier, the image at its breaking point with the severity, the new label and its "
        "probability."
    )
    there = [Sentence(note, "note")] * (not isinstance(pictures, Sentence))
    return Group("At the break", (*there, pictures))


def _as_confidence(rows: Sequence[Row]) -> Group:
    note = (
        "How well it tells right answers from errors, beside the greatest softmax probability: AUROC (0.5 is chance, 1 "
        "perfect), and the area under the risk–coverage curve (lower is better)."
    )
    table = Table(
        (
            *("classifier", "errors", "AUROC, breaking point", "AUROC, softmax", "risk area, breaking point"),
            "risk area, softmax",
        ),
        tuple(
            (
                ClassifierName(row["classifier"]),
                Count(found["errors"]),
                *(estimate(found, f"{what}_auroc") for what in ("breaking_point", "softmax")),
                *(Estimate(found[f"{what}_risk_area"]) for what in ("breaking_point", "softmax")),
            )
            for row in rows
            for found in [row["as_confidence"]]
        ),
    )
    return Group("Is the breaking point a confidence?", (Sentence(note, "note"), table))


def _flows(rows: Sequence[Row]) -> Table:
    return Table(
        ("classifier", "from", "to", "share of its breaks"),
        tuple(
            (ClassifierName(row["classifier"]), flow["from"], flow["to"], share(flow, "share", places=1))
            for row in rows
            for flow in row["flows"][:MOST_FLOWS]
        ),
        by=0,
    )
