"""The section of the measure `before-after`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from brittle.report.blocks import Block, Cell, Column, Group, Sentence, Weighted
from brittle.report.blocks.text import ClassifierName, TableCell, Verdict
from brittle.report.blocks.wording import bounded
from brittle.report.page.section import MeasureRun, Row, Summary, compared
from brittle.report.page.words import counted, percent
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection, finding
from brittle.report.sections.before_after.brief import printed
from brittle.report.sections.before_after.changes import (
    QUANTITIES,
    change,
    images_of,
    least_first,
    levels,
    losses,
    moved,
    side,
)
from brittle.report.sections.before_after.figures import class_figure
from brittle.report.sections.before_after.hardening import choice, too_little, trained, tuned
from brittle.report.sections.before_after.record import HardeningRecord, RecordFound, read_record
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.grouped import with_set
from brittle.report.sections.tables import Titled, count, table, text

GAINED, COST = 0.95, 0.94  # how much the findings matter
MOST_CLASSES = 20


@register("before-after")
class BeforeAfterSection(BaseSection):
    """What changed from one classifier to another, and where a hardening made the other, how."""

    title = "Before and after"

    def brief(self, summary: Summary) -> Sequence[Block]:
        return list(printed(summary))

    def table(self, summary: Summary) -> pa.Table:
        """A row per class, and one without a class over all."""
        names = ("before", "after", "image_set", "nuisance", "confidence")
        rows = []
        for each in summary["differences"]:
            cell = {key: each[key] for key in names}
            whole = {key: value for key, value in each.items() if key not in (*names, "classes")}
            every = {"label": None, "class": None, "images": images_of(each)}
            rows += [flat(cell | every | whole), *(flat(cell | row) for row in each["classes"])]
        return arrow(rows)

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        record = _record(run).record
        return [
            finding(text, weight, about)
            for each in run.summary["differences"]
            for text, weight, about in _said(run, each, record)
        ]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        found, differences = _record(run), run.summary["differences"]
        record = found.record
        blocks: list[Block] = [Sentence(text) for each in differences for text, _, _ in _said(run, each, record)]
        if record is None or record.chosen:  # otherwise nothing is compared
            blocks += [block for place in range(len(differences)) for block in _compared(run, place)]
        if found.caution:
            blocks.append(Sentence(found.caution, "warning"))
        if record is None:
            return blocks
        alone = (
            f"Hardening was chosen and measured against {record.about.nuisance} alone. What it did to the robustness "
            "against other nuisances is not known until it is measured."
        )
        return [*blocks, trained(record), choice(record, differences[0]), Sentence(alone, "limit")]


def _record(run: MeasureRun) -> RecordFound:
    return run.once("record", lambda: read_record(run))


def _said(run: MeasureRun, difference: Row, record: HardeningRecord | None) -> list[tuple[str, float, tuple[str, ...]]]:
    """What was gained and what it cost, in two sentences; with the record of a hardening, what was done too."""
    about = compared(difference["image_set"], difference["before"], difference["after"])
    if record is not None and not record.chosen:
        return [(too_little(record), GAINED, about)]
    known = levels(run, difference)
    gained, right, cost = (moved(difference, known, quantity) for quantity in QUANTITIES)
    if record is not None:
        costs = f"Accuracy under the nuisance {right}. Clean accuracy {cost}."
        return [(f"{tuned(record)} ρ {gained}.", GAINED, about), (costs, COST, ())]
    on = f" on {difference['image_set']}" if run.many_sets else ""
    where = f"From {difference['before']} to {difference['after']} under {difference['nuisance']}{on}"
    return [
        (f"{where} ρ {gained}.", GAINED, about),
        (f"{where} accuracy {right}; clean accuracy {cost}.", COST, ()),
    ]


def _compared(run: MeasureRun, place: int) -> Iterator[Block]:
    """One image set under one nuisance: over all images, and class by class."""
    every: Sequence[Row] = run.summary["differences"]
    difference, several = every[place], len(every) > 1
    images, nuisance = difference["image_set"], difference["nuisance"]
    yield Group(
        with_set(run, nuisance, images) if several else "",
        tuple(_levels(run, difference)),
        about=Cell(images, nuisance),
    )
    if difference["classes"]:
        heading = "What each class gained"
        yield Group(
            (f"{heading}: ", nuisance) if several else heading, tuple(_classes(difference)), key=f"classes{place + 1}"
        )


def _levels(run: MeasureRun, difference: Row) -> Iterator[Block]:
    known, pair = levels(run, difference), f"{difference['after']} − {difference['before']}"

    def level(name: str) -> Titled:
        def cell(quantity: str) -> TableCell:
            return bounded(
                known[name][quantity], known[name]["interval" if quantity == "rho" else f"{quantity}_interval"]
            )

        return Column((ClassifierName(name),)), cell

    better = {1: difference["after"], -1: difference["before"]}
    yield table(
        QUANTITIES,
        (f"on {counted(images_of(difference), 'image')}", lambda quantity: QUANTITIES[quantity]),
        *map(level, known),
        (Column(pair, "difference"), lambda quantity: change(difference, quantity)),
        ("better", lambda quantity: Verdict(better.get(side(difference, quantity)))),
    )
    yield Sentence(
        f"{percent(difference['confidence'])} intervals, each holding on its own; {pair} is paired: the same images "
        "and the same draws of θ. Drawn around zero, in the colour of the better one; a tie, in grey, where the "
        "interval holds zero.",
        "note",
    )


def _classes(difference: Row) -> Iterator[Block]:
    every = least_first(difference)
    shown, cut = every[:MOST_CLASSES], ""
    if len(shown) < len(every):
        cut = f": the {len(shown)} least gains of {len(every)} classes; all are in summary.json"
    yield Sentence(losses(every))
    yield Sentence(
        f"{difference['after']} − {difference['before']}, the least gain in ρ first{cut}. "
        f"{percent(difference['confidence'])} intervals, simultaneous over all classes for each of the three "
        "quantities.",
        "note",
    )
    yield class_figure(difference, shown)

    def gain(quantity: str) -> Titled:
        return QUANTITIES[quantity], lambda each: change(each, quantity)

    numbers = table(shown, ("class", text("class")), ("images", count("images")), *map(gain, QUANTITIES))
    yield Group("The numbers", (numbers,), "closed")
