"""The section of the measure `before-after`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from brittle.report.blocks import (
    Block,
    Cell,
    ClassifierName,
    Column,
    Count,
    Estimate,
    Group,
    Sentence,
    Table,
    TableCell,
    Verdict,
    Weighted,
)
from brittle.report.blocks.wording import bounded
from brittle.report.page.section import MeasureRun, Summary
from brittle.report.page.words import counted, number, percent
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection
from brittle.report.sections.before_after import sentences
from brittle.report.sections.before_after.brief import printed
from brittle.report.sections.before_after.changes import QUANTITIES, Difference, differences_of, levels
from brittle.report.sections.before_after.figures import candidate_figure, class_figure, is_far
from brittle.report.sections.before_after.record import Record, RecordFound, read_record
from brittle.report.sections.flatten import arrow, flat

MOST_CLASSES = 20
OPEN_TABLE = 20  # past so many candidates their table is closed


@register("before-after")
class BeforeAfterSection(BaseSection):
    """What changed from one classifier to another, and where a hardening made the other, how."""

    title = "Before and after"

    def brief(self, summary: Summary) -> Sequence[Block]:
        return list(printed(differences_of(summary)))

    def table(self, summary: Summary) -> pa.Table:
        """A row per class, and one without a class over all."""
        names = ("before", "after", "image_set", "nuisance", "confidence")
        rows = []
        for each in summary["differences"]:
            cell = {key: each[key] for key in names}
            whole = {key: value for key, value in each.items() if key not in (*names, "classes")}
            every = {"label": None, "class": None, "images": sum(row["images"] for row in each["classes"])}
            rows += [flat(cell | every | whole), *(flat(cell | row) for row in each["classes"])]
        return arrow(rows)

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        record = self._record(run).record
        return [
            finding
            for each in differences_of(run.summary)
            for finding in sentences.findings(each, levels(run, each), record, run.many_sets)
        ]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        found, differences = self._record(run), differences_of(run.summary)
        record = found.record
        said = [each.block for each in self.top(run)]
        blocks: list[Block] = [replace(each, role="text") for each in said if isinstance(each, Sentence)]
        if record is None or record.chosen:  # otherwise nothing is compared
            blocks += [
                block for place, each in enumerate(differences, 1) for block in _compared(run, each, place, differences)
            ]
        if found.caution:
            blocks.append(Sentence(found.caution, "warning"))
        if record is None:
            return blocks
        alone = (
            f"Hardening was chosen and measured against {record.about.nuisance} alone. What it did to the robustness "
            "against other nuisances is not known until it is measured."
        )
        return [*blocks, _training(record), _choice(record, differences[0]), Sentence(alone, "limit")]

    def _record(self, run: MeasureRun) -> RecordFound:
        return run.once("record", lambda: read_record(run, differences_of(run.summary)))


def _compared(run: MeasureRun, difference: Difference, place: int, every: Sequence[Difference]) -> Iterator[Block]:
    """One image set under one nuisance: over all images, and class by class."""
    several = len(every) > 1
    on = f" on {difference.image_set}" if run.many_sets else ""
    title = f"{difference.nuisance}{on}" if several else ""
    yield Group(title, tuple(_levels(run, difference)), about=Cell(difference.image_set, difference.nuisance))
    if difference.classes:
        heading = f"What each class gained{f': {difference.nuisance}' if several else ''}"
        yield Group(heading, tuple(_classes(difference)), key=f"classes{place}")


def _levels(run: MeasureRun, difference: Difference) -> Iterator[Block]:
    known, pair = levels(run, difference), f"{difference.after} − {difference.before}"
    better = {1: difference.after, -1: difference.before}
    yield Table(
        (
            f"on {counted(difference.images, 'image')}",
            *(Column((ClassifierName(name),)) for name in known),
            Column(pair, "difference"),
            "better",
        ),
        tuple(
            (
                name,
                *(bounded(*found[quantity]) for found in known.values()),
                difference.of(quantity).estimate,
                Verdict(better.get(difference.of(quantity).side)),
            )
            for quantity, name in QUANTITIES.items()
        ),
    )
    yield Sentence(
        f"{percent(difference.confidence)} intervals, each holding on its own; {pair} is paired: the same images and "
        "the same draws of θ. Drawn around zero, in the colour of the better one; a tie, in grey, where the interval "
        "holds zero.",
        "note",
    )


def _classes(difference: Difference) -> Iterator[Block]:
    least_first = difference.least_first[:MOST_CLASSES]
    cut = ""
    if len(least_first) < len(difference.classes):
        cut = f": the {len(least_first)} least gains of {len(difference.classes)} classes; all are in summary.json"
    yield Sentence(sentences.losses(difference.least_first))
    yield Sentence(
        f"{difference.after} − {difference.before}, the least gain in ρ first{cut}. {percent(difference.confidence)} "
        "intervals, simultaneous over all classes for each of the three quantities.",
        "note",
    )
    yield class_figure(difference, least_first)
    table = Table(
        ("class", "images", *QUANTITIES.values()),
        tuple(
            (row.name, Count(row.images), *(row.of(quantity).estimate for quantity in QUANTITIES))
            for row in least_first
        ),
    )
    yield Group("The numbers", (table,), "closed")


def _training(record: Record) -> Group:
    about, parts, calls = record.about, record.parts, record.calls
    pairs = (
        (
            "images",
            f"{parts.training:,} training images; {parts.held_out:,} held-out images, to choose among the candidates; "
            f"{parts.test:,} test images, for before and after alone",
        ),
        (
            "training",
            f"{counted(about.rounds, 'round')} × {counted(about.steps, 'step')} × {about.batch_size} images, of which "
            f"{100 * about.share:g} % transformed and the others clean",
        ),
        ("trained on", sentences.trained_on(about)),
        (
            "classifier calls",
            f"{calls.sampling:,} in sampling; training was worth {calls.training:,} more (three per image and step). "
            f"The rounds took {record.seconds:,.0f} s on {record.device}",
        ),
    )
    return Group("How it was hardened", (Table(("", ""), pairs, "pairs"),), key="training")


def _choice(record: Record, difference: Difference) -> Group:
    best = record.rounds[record.chosen]
    which = "the untouched classifier"
    if record.chosen:
        way = "the weights" if best.way == 1 else f"{best.way:g} of the way to those"
        which = f"{way} at the end of round {best.round}"
    far = ", far to the left of the figure" if is_far(record) else ""
    told = any(each.failing is not None for each in record.rounds)
    stand = " stands with the last candidate of its round"
    if told:
        stand = (
            ", 1 − µ of the images sampled and the share of the draws trained on at which another label won stand with "
            "the last candidate of their round"
        )
    return Group(
        "How the weights were chosen",
        (
            Sentence(f"Said beforehand: {record.criterion}."),
            Sentence(
                f"Chosen: {which}. The least clean accuracy allowed was {number(record.least)}{far}"
                f"{sentences.too_costly(record)}."
            ),
            candidate_figure(record, difference),
            Group(
                f"The {len(record.rounds)} candidates on {record.parts.held_out} held-out images",
                (_candidates(record, told),),
                "open" if len(record.rounds) <= OPEN_TABLE else "closed",
            ),
            Sentence(
                "ρ̂ is ρ as estimated on these images; a line in the figure leads from the untouched weights to a "
                "round’s own. Way: how far from the untouched weights to the round’s own. The mean loss"
                f"{stand}. The one chosen looks a little better here than it is, since it was chosen here; the test "
                "images took no part in that.",
                "note",
            ),
        ),
        key="chosen",
    )


def _candidates(record: Record, told: bool) -> Table:
    def verdict(place: int) -> str:
        row = record.rounds[place]
        said = {
            "untouched": not row.round,
            "chosen": place == record.chosen,
            "lost too much": not record.allowed(row),
        }
        return ", ".join(word for word, holds in said.items() if holds)

    columns = ("round", "way", "verdict", "ρ", "accuracy under the nuisance", "clean accuracy", "loss")
    rows: list[tuple[TableCell, ...]] = []
    for place, row in enumerate(record.rounds):
        values = (row.accuracy_nuisance, row.accuracy_clean, row.loss, *((row.failing, row.wrong) if told else ()))
        way = f"{row.way:g}" if row.round else "–"
        rows.append((str(row.round), way, verdict(place), bounded(row.rho, row.interval), *map(Estimate, values)))
    return Table((*columns, *(["1 − µ", "wrong"] if told else [])), tuple(rows), by=0, chosen=record.chosen)
