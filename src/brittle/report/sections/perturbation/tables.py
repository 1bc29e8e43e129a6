"""Tables of perturbations: sizes, differences, classes, what becomes of changes elsewhere, and errors recognised by
them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from brittle.report.blocks import Block, Sentence, Table
from brittle.report.blocks.text import TableCell
from brittle.report.blocks.wording import share
from brittle.report.page.section import Row
from brittle.report.page.words import intervals_hold, percent
from brittle.report.sections.comparisons import minus, verdict
from brittle.report.sections.perturbation import words
from brittle.report.sections.tables import WHO, bare, bare_share, count, estimated, pairs, part, table, text, who

MEAN, LEAST = part("mean", places=2), part("smallest.mean", "interval", 2)


def about(row: Row) -> Table:
    left = (
        "the classifier’s own prediction for the untouched image; sizes are given for images that are right untouched"
    )
    means = f"{words.means(row)}. A median takes failures as larger than everything."
    return pairs(("search", words.how(row)), ("what is left", left), ("means", means))


def _level(row: Row) -> TableCell:
    return words.level(row["mean"])


def briefly(rows: Sequence[Row]) -> Table:
    return table(
        rows,
        ("", who),
        ("right", count("right", "images")),
        ("mean L∞", MEAN),
        ("of 255", _level),
        ("median", bare_share("median", 2)),
        ("least over targets", LEAST),
        ("failed", words.failures),
        ("L2", bare("l2_mean_found", 2)),
        noun="classifier",
    )


def sizes(rows: Sequence[Row]) -> Iterator[Block]:
    def failed(row: Row) -> TableCell:
        return words.failures(row), *((": ", share(row, "failure_share")) if row["pairs"] else ())

    yield table(
        rows,
        WHO,
        ("right", count("right", "images")),
        ("mean L∞", MEAN),
        ("of 255", _level),
        ("median", bare_share("median", 2)),
        ("least over targets, mean", LEAST),
        ("failed searches", failed),
        (f"beyond {percent(rows[0]['cap'])}", bare_share("capped", 2)),
        ("mean L2", bare("l2_mean_found")),
        *[("mean on images all get right", part("mean_common", places=2))] * (len(rows) > 1),
    )
    yield Sentence(
        f"{percent(rows[0]['confidence'])} intervals, each on its own, over images: of an image, all its targets count "
        "equally. L2 is over changes that were found, and has no interval: failures have no size, and what is left is "
        "not a sample of anything.",
        "note",
    )


def differences(compared: Sequence[Row]) -> Iterator[Block]:
    yield table(
        compared,
        ("first − second", minus),
        ("images both get right", count("images")),
        ("mean over targets", lambda pair: words.difference(pair, "mean")),
        verdict("needs more", "mean_larger"),
        ("least over targets", lambda pair: words.difference(pair, "smallest")),
        verdict("needs more", "smallest_larger"),
    )
    holding = intervals_hold(compared[0]["confidence"], compared[0]["family"])
    yield Sentence(f"Paired over images; {holding}.", "note")


def by_class(rows: Sequence[Row]) -> Iterator[Block]:
    yield table(
        [
            each | {"classifier": row["classifier"], "way": way}
            for row in rows
            for way, classes in (("from", row["classes"]), ("to", row["to_classes"]))
            for each in classes
        ],
        WHO,
        ("way", text("way")),
        ("class", text("class")),
        ("images", count("images")),
        ("pairs", count("pairs")),
        ("mean L∞", MEAN),
        ("median", bare_share("median", 2)),
        ("failed", count("failures")),
        by=1,
    )
    yield Sentence(
        f"{percent(rows[0]['confidence'])} intervals that hold for all classes of a classifier and way at once; with a "
        "handful of images they say nothing.",
        "note",
    )


def survival(rows: Sequence[Row]) -> Iterator[Block]:
    first = rows[0]
    kinds = {"8 bits": "rounded", f"JPEG {first['quality']}": "jpeg"}
    kept = {"label kept": "label", f"p ≥ {first['share']}": "share"}
    columns = (
        (f"{kind}: {what}", part(f"survival.{a}.{b}", places=0))
        for kind, a in kinds.items()
        for what, b in kept.items()
    )
    yield table(rows, WHO, *columns)
    yield Sentence(
        f"Changes end at p = {first['share']} exactly, so that many fall below it by rounding alone; whether the label "
        "is kept says more.",
        "note",
    )


def transfers(rows: Sequence[Row], shown: int | None = None) -> Table:
    return table(
        rows,
        ("changes found for", lambda row: who({"classifier": row["from"]})),
        ("tried on", lambda row: who({"classifier": row["to"]})),
        ("pairs", count("pairs")),
        ("target reached there", part("target_share", "target_interval", 0)),
        ("label changed there", part("left_share", "left_interval", 0)),
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
    yield table(
        rows,
        WHO,
        ("errors", count("errors.errors", "images")),
        ("AUROC, least change", estimated("errors.change.auroc")),
        ("AUROC, greatest probability", estimated("errors.max_softmax.auroc")),
        ("area, least change", bare("errors.change.risk_coverage_area")),
        ("area, greatest probability", bare("errors.max_softmax.risk_coverage_area")),
        ("least area possible", bare("errors.least_area")),
    )
