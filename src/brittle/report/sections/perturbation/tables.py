"""Tables of perturbations: sizes, differences, classes, what becomes of changes elsewhere, and errors told by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from brittle.report.blocks import Block, ClassifierName, Count, Estimate, Sentence, Table, Verdict
from brittle.report.blocks.wording import estimate, share
from brittle.report.page.words import intervals_hold, percent
from brittle.report.sections.comparisons import better
from brittle.report.sections.perturbation import words
from brittle.report.sections.perturbation.words import Row


def about(row: Row) -> Table:
    left = "the classifier’s own prediction for the untouched image; sizes are told of images that are right untouched"
    means = f"{words.means(row)}. A median takes failures as larger than everything."
    return Table(("", ""), (("search", words.how(row)), ("what is left", left), ("means", means)), "pairs")


def briefly(rows: Sequence[Row]) -> Table:
    return Table(
        ("", "right", "mean L∞", "of 255", "median", "least over targets", "failed", "L2"),
        tuple(
            (
                ClassifierName(row["classifier"]),
                Count(row["right"], row["images"]),
                words.size(row, "mean"),
                words.level(row["mean"]),
                Estimate(row["median"], places=2, format="percent"),
                words.size(row["smallest"], "mean", "interval"),
                words.failures(row),
                Estimate(row["l2_mean_found"], places=2),
            )
            for row in rows
        ),
        noun="classifier",
    )


def sizes(rows: Sequence[Row]) -> Iterator[Block]:
    several, first = len(rows) > 1, rows[0]
    yield Table(
        (
            *("classifier", "right", "mean L∞", "of 255", "median", "least over targets, mean", "failed searches"),
            *(f"beyond {percent(first['cap'])}", "mean L2", *["mean on images all get right"] * several),
        ),
        tuple(
            (
                ClassifierName(row["classifier"]),
                Count(row["right"], row["images"]),
                words.size(row, "mean"),
                words.level(row["mean"]),
                Estimate(row["median"], places=2, format="percent"),
                words.size(row["smallest"], "mean", "interval"),
                (words.failures(row), *((": ", share(row, "failure_share")) if row["pairs"] else ())),
                Estimate(row["capped"], places=2, format="percent"),
                Estimate(row["l2_mean_found"]),
                *([words.size(row, "mean_common")] if several else []),
            )
            for row in rows
        ),
    )
    yield Sentence(
        f"{percent(first['confidence'])} intervals, each on its own, over images: of an image, all its targets count "
        "equally. L2 is over changes that were found, and has no interval: failures have no size, and what is left is "
        "not a sample of anything.",
        "note",
    )


def differences(pairs: Sequence[Row]) -> Iterator[Block]:
    yield Table(
        (
            "first − second",
            "images both get right",
            "mean over targets",
            "needs more",
            "least over targets",
            "needs more",
        ),
        tuple(
            (
                f"{pair['first']} − {pair['second']}",
                Count(pair["images"]),
                words.difference(pair, "mean"),
                Verdict(better(pair, "mean_larger")),
                words.difference(pair, "smallest"),
                Verdict(better(pair, "smallest_larger")),
            )
            for pair in pairs
        ),
    )
    yield Sentence(f"Paired over images; {intervals_hold(pairs[0]['confidence'], pairs[0]['family'])}.", "note")


def by_class(rows: Sequence[Row]) -> Iterator[Block]:
    yield Table(
        ("classifier", "way", "class", "images", "pairs", "mean L∞", "median", "failed"),
        tuple(
            (
                ClassifierName(row["classifier"]),
                way,
                each["class"],
                Count(each["images"]),
                Count(each["pairs"]),
                words.size(each, "mean"),
                Estimate(each["median"], places=2, format="percent"),
                Count(each["failures"]),
            )
            for row in rows
            for way, classes in (("from", row["classes"]), ("to", row["to_classes"]))
            for each in classes
        ),
        by=1,
    )
    yield Sentence(
        f"{percent(rows[0]['confidence'])} intervals that hold for all classes of a classifier and way at once; with a "
        "handful of images they say nothing.",
        "note",
    )


def survival(rows: Sequence[Row]) -> Iterator[Block]:
    first = rows[0]
    yield Table(
        (
            "classifier",
            *("8 bits: label kept", f"8 bits: p ≥ {first['share']}"),
            *(f"JPEG {first['quality']}: label kept", f"JPEG {first['quality']}: p ≥ {first['share']}"),
        ),
        tuple(
            (
                ClassifierName(row["classifier"]),
                *(share(row["survival"][kind], key) for kind in ("rounded", "jpeg") for key in ("label", "share")),
            )
            for row in rows
        ),
    )
    yield Sentence(
        f"Changes end at p = {first['share']} exactly, so that many fall below it by rounding alone; whether the label "
        "is kept says more.",
        "note",
    )


def transfers(rows: Sequence[Row], shown: int | None = None) -> Table:
    return Table(
        ("changes found for", "tried on", "pairs", "target reached there", "label changed there"),
        tuple(
            (
                ClassifierName(row["from"]),
                ClassifierName(row["to"]),
                Count(row["pairs"]),
                share(row, "target_share", "target_interval"),
                share(row, "left_share", "left_interval"),
            )
            for row in rows
        ),
        shown=shown,
        noun="transfer",
    )


def as_confidence(rows: Sequence[Row]) -> Iterator[Block]:
    yield Sentence(
        "Whether the least change to any other class tells errors from right answers better than the greatest "
        "probability does. AUROC: the probability that a right answer scores above an error. Area: mean share of "
        "errors over all shares of images kept, less is better.",
        "note",
    )
    scores = {"change": "least change", "max_softmax": "greatest probability"}
    yield Table(
        (
            *("classifier", "errors", *(f"AUROC, {name}" for name in scores.values())),
            *(*(f"area, {name}" for name in scores.values()), "least area possible"),
        ),
        tuple(
            (
                ClassifierName(row["classifier"]),
                Count(row["errors"]["errors"], row["images"]),
                *(estimate(row["errors"][score], "auroc") for score in scores),
                *(Estimate(row["errors"][score]["risk_coverage_area"]) for score in scores),
                Estimate(row["errors"]["least_area"]),
            )
            for row in rows
        ),
    )
