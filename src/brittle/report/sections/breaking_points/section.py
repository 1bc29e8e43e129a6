"""The section of the measure `breaking-points`."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.blocks import Block, Cell, Group, Sentence, Table, Weighted
from brittle.report.blocks.figure import Axis, Figure, Mark, Points, Rule
from brittle.report.blocks.text import Estimate, Styled, Text
from brittle.report.page.section import MeasureRun, Row, Summary, compared
from brittle.report.page.words import listed, percent
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection, finding, remarks
from brittle.report.sections.breaking_points import words
from brittle.report.sections.breaking_points.pictures import at_the_break
from brittle.report.sections.breaking_points.words import unit
from brittle.report.sections.comparisons import against, at_once, better, both, capped, minus, tie_or, verdict
from brittle.report.sections.distortion import distortion_blocks, distortion_line
from brittle.report.sections.grouped import cells, with_set
from brittle.report.sections.marks import chart, curve
from brittle.report.sections.references import CLOPPER_PEARSON_1934, UREM, WAUDBY_SMITH_2023
from brittle.report.sections.tables import WHO, bare, bare_share, count, estimated, pairs, part, table, text, who

MOST_CURVES = 8
LEADS = 0.45  # how much a finding matters
MOST_FINDINGS = 3
MOST_FLOWS, PRINTED_FLOWS = 5, 3
MOST_TOLD = 4  # classifiers of which flows are reported
LIMITS = (
    "A breaking point says when the prediction first changes along one path, not how often it is wrong at a severity; "
    "predictions may come back further along.",
    "Noise that is independent from pixel to pixel is a mild, unspecific change in high dimension: a high breaking "
    "point promises nothing about chosen changes.",
    "Numbers for different image sizes, steps or ways of drawing noise can't be compared.",
)
HALVED = (
    "Breaking points were found by halving: where a path comes back to its first label and leaves it again, the first "
    "change may lie below the one that was found, and a path that is whole at the limit may have broken on the way."
)
AS_CONFIDENCE = (
    "How well it tells right answers from errors, beside the greatest softmax probability: AUROC (0.5 is chance, 1 "
    "perfect), and the area under the risk–coverage curve (lower is better)."
)


@register("breaking-points")
class BreakingPointsSection(BaseSection):
    """How far severity rises before predictions change, and what that looks like."""

    title = "Breaking points"
    listed, without = "results", ("flows", "survival")

    def brief(self, summary: Summary) -> Sequence[Block]:
        return [
            *(_printed(*cell) for cell in cells(summary)),
            Sentence(_closing(summary["results"][0])),
            *distortion_line(summary),
        ]

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        apart = [
            finding(_later(rows[0], pair), LEADS, compared(pair["image_set"], pair["first"], pair["second"]))
            for rows, pairs in cells(run.summary)
            for pair in pairs
            if better(pair) is not None
        ]
        alone = [row for row in run.summary["results"][:2] if row["mean"] is not None]
        return apart[:MOST_FINDINGS] or [finding(_alone(row), LEADS) for row in alone]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        first = run.summary["results"][0]
        unlabelled = " These images have no labels: each counts as correct." if first["reference"] != "label" else ""
        return [
            Sentence(
                "How far severity rises before the prediction leaves the clean prediction (UREM, section 3.1). "
                "Averages are over images that are classified correctly: a classifier’s own, and those that all "
                f"classifiers get right.{unlabelled}"
            ),
            *(_part(run, *cell) for cell in cells(run.summary)),
            *remarks(
                "A breaking point is the severity at which the prediction leaves the clean prediction.",
                LIMITS + (HALVED,) * (first.get("search") == "bisect"),
                f"how θ is drawn ({first['noise']}), the step ({first['step']:g}), the limit ({first['limit']:g})",
                (UREM, CLOPPER_PEARSON_1934, WAUDBY_SMITH_2023),
            ),
        ]


def _later(row: Row, pair: Row) -> Text:
    later, sooner = both(pair)
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
    first, places = rows[0], words.places(rows[0])
    about = f" on {first['image_set']}, {first['images']} images: {words.unit(first)} at which predictions change"
    short = table(
        rows,
        ("", who),
        ("correct", count("correct")),
        ("mean", words.mean),
        *[("% of 255", bare("percent", 1))] * first["of_255"],
        *[("common", bare("common.mean", places))] * (first["common"] is not None),
        ("median", words.median),
        ("unbroken", bare_share("unbroken")),
        ("P*", bare("p_star", 2)),
        noun="classifier",
    )
    differences = capped([_difference(first, pair) for pair in pairs], "difference")
    flows = [Sentence(_often(row)) for row in rows[:MOST_TOLD] if row["flows"]]
    return Group((Styled(first["nuisance"]), about), (short, *differences, *flows, Sentence(words.how(first))))


def _often(row: Row) -> str:
    shown = [f"{flow['from']} → {flow['to']} {percent(round(flow['share'], 2))}" for flow in row["flows"]]
    return f"{row['classifier']} most often: {listed(shown[:PRINTED_FLOWS])}"


def _difference(row: Row, pair: Row) -> Text:
    if pair["difference"] is None:
        return f"{minus(pair)}: no image is right for all classifiers"
    over = f"{minus(pair)}, paired over {pair['images']} images that both get right: "
    return over, words.difference(row, pair), f"{at_once(pair)}, {tie_or(pair, 'breaks later')}"


def _closing(row: Row) -> str:
    fresh = " With noise=fresh breaking points fall as the step shrinks: give the step with them."
    return (
        f"{percent(row['confidence'])} intervals over images ({words.mean_is(row)}), of images classified correctly; "
        "P*: mean probability of the new label at the break; unbroken: paths that held up to the limit; "
        f"seed {row['seed']}.{fresh if row['noise'] == 'fresh' else ''}"
    )


def _part(run: MeasureRun, rows: Sequence[Row], compared: Sequence[Row]) -> Group:
    """Everything of one image set under one nuisance."""
    first, images, nuisance = rows[0], rows[0]["image_set"], rows[0]["nuisance"]
    never = ": paths that never broke count with the limit, so the mean itself is larger, or infinite"
    mean = f"{words.mean_is(first)}{never if first['unbroken'] else ''}"
    blocks: list[Block] = [
        pairs(("unit", words.unit(first)), ("paths", words.how(first)), ("mean", mean)),
        _figure(rows),
        _table(rows),
        *distortion_blocks(run.summary, images, nuisance),
    ]
    if compared:
        blocks.append(_differences(rows, compared))
    if shown := at_the_break(run, rows):
        blocks.append(Group("At the break", tuple(shown)))
    if any(row["as_confidence"]["breaking_point_auroc"] for row in rows):
        blocks.append(_as_confidence(rows))
    blocks.append(Group("Which labels breaks lead to", (_flows(rows[:MOST_TOLD]),)))
    return Group(with_set(run, nuisance, images), tuple(blocks), about=Cell(images, nuisance))


def _table(rows: Sequence[Row]) -> Table:
    first, places = rows[0], words.places(rows[0])
    averaged = (first["common"] or {}).get("averaged")
    return table(
        rows,
        WHO,
        ("correct", count("correct", "images")),
        ("mean", words.mean),
        *[("% of 255", bare("percent", 1))] * first["of_255"],
        *[(f"mean over the {averaged} images all get right", estimated("common.mean", "interval", places=places))]
        * (first["common"] is not None),
        ("median", words.median),
        ("never broke", part("unbroken")),
        ("P* of the new label", estimated("p_star", places=2)),
        ("spread over images", bare("spread", places)),
        ("over repeats", bare("spread_of_repeats", places)),
    )


def _differences(rows: Sequence[Row], pairs: Sequence[Row]) -> Group:
    best = max(rows, key=lambda row: (row["common"] or row)["mean"] or 0.0)["classifier"]
    columns = ("first − second", lambda pair: words.difference(rows[0], pair)), verdict("breaks later")
    return Group(
        "Differences, paired over the images that both get right", tuple(against(pairs, best, "breaks", *columns))
    )


def _as_confidence(rows: Sequence[Row]) -> Group:
    shown = table(
        rows,
        WHO,
        ("errors", count("as_confidence.errors")),
        ("AUROC, breaking point", estimated("as_confidence.breaking_point_auroc")),
        ("AUROC, softmax", estimated("as_confidence.softmax_auroc")),
        ("risk area, breaking point", bare("as_confidence.breaking_point_risk_area")),
        ("risk area, softmax", bare("as_confidence.softmax_risk_area")),
    )
    return Group("Is the breaking point a confidence?", (Sentence(AS_CONFIDENCE, "note"), shown))


def _flows(rows: Sequence[Row]) -> Table:
    return table(
        [flow | {"classifier": row["classifier"]} for row in rows for flow in row["flows"][:MOST_FLOWS]],
        WHO,
        ("from", text("from")),
        ("to", text("to")),
        ("share of its breaks", part("share")),
        by=0,
    )


def _figure(rows: Sequence[Row]) -> Figure:
    """A curve per classifier, with an interval for each severity."""
    shown, marks = _spread(rows), list[Mark]([Rule(0.5, "x", dash="dotted")])
    for row in shown:
        survival = row["survival"]
        if survival["share"]:
            ends = zip(survival["low"], survival["high"], strict=True)
            marks += curve(who(row), survival["values"], survival["share"], ends, step="level")
        if row["median"] is not None:
            marks.append(Points(who(row), (row["median"],), (0.5,)))
    some = f" Eight of {len(rows)} classifiers, from the one that breaks last to the one that breaks first."
    return chart(
        f"share of paths of {', '.join(row['classifier'] for row in shown)} that are not broken, against "
        f"{unit(rows[0])}",
        marks,
        Axis(unit(rows[0]), low=0, high=rows[0]["limit"]),
        Axis("share of paths not yet broken", low=0, high=1, grid=True),
        "Share of paths of a classifier’s own correct images that are not broken yet; bands are "
        f"{percent(rows[0]['confidence'])} intervals over images, each for one severity and not for the whole curve, "
        f"marks are medians.{some * (len(rows) > len(shown))}",
        height=3.6,
    )


def _spread(rows: Sequence[Row]) -> Sequence[Row]:
    """As many classifiers as a figure can show, from the one that breaks last to the one that breaks first."""
    if len(rows) <= MOST_CURVES:
        return rows
    order = sorted(rows, key=lambda row: -(row["mean"] or 0.0))
    return [order[place * (len(order) - 1) // (MOST_CURVES - 1)] for place in range(MOST_CURVES)]
