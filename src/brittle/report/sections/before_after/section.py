"""The section of the measure `before-after`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from markupsafe import Markup
from rich.console import RenderableType

from brittle.report.page.section import MeasureRun, Summary
from brittle.report.page.words import percent
from brittle.report.sections import register
from brittle.report.sections.before_after import sentences
from brittle.report.sections.before_after.changes import QUANTITIES, Difference, differences_of, levels
from brittle.report.sections.before_after.console import printed
from brittle.report.sections.before_after.figures import GREY, candidate_figure, class_figure, is_far
from brittle.report.sections.before_after.record import RecordFound, read_record
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.legacy import Finding, LegacySection, Remarks

MOST_CLASSES = 20
OPEN_TABLE = 20  # past so many candidates their table is closed


@register("before-after")
class BeforeAfterSection(LegacySection):
    """What changed from one classifier to another, and where a hardening made the other, how."""

    title = "Before and after"

    def console(self, summary: Summary) -> RenderableType:
        return printed(differences_of(summary))

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

    def findings(self, run: MeasureRun) -> Sequence[Finding]:
        record = self._record(run).record
        return [
            finding
            for each in differences_of(run.summary)
            for finding in sentences.findings(each, levels(run, each), record, run.many_sets)
        ]

    def remarks(self, run: MeasureRun) -> Remarks:
        found = self._record(run)
        limits = []
        if found.record is not None:
            limits.append(
                f"Hardening was chosen and measured against {found.record.about.nuisance} alone. What it did to the "
                "robustness against other nuisances is not known until it is measured."
            )
        return Remarks(cautions=[found.caution] if found.caution else [], limits=limits)

    def body(self, run: MeasureRun) -> Markup:
        record = self._record(run).record
        differences = differences_of(run.summary)
        unchanged = record is not None and not record.chosen  # then nothing is compared
        shown = [] if unchanged else [_shown(run, each, place) for place, each in enumerate(differences)]
        return self.rendered(
            "body.html.j2",
            run,
            differences=shown,
            several=len(differences) > 1,
            quantities=QUANTITIES,
            record=record,
            unchanged=unchanged,
            findings=[each.text for each in self.findings(run)],
            training=None if record is None else _training(run, self._record(run), differences[0]),
            open_table=OPEN_TABLE,
        )

    def _record(self, run: MeasureRun) -> RecordFound:
        return run.once("record", lambda: read_record(run, differences_of(run.summary)))


def _shown(run: MeasureRun, difference: Difference, place: int) -> dict[str, Any]:
    """One image set under one nuisance, ready for the template."""
    changes = [difference.of(quantity) for quantity in QUANTITIES]
    colours = {1: run.looks[difference.after].colour, -1: run.looks[difference.before].colour, 0: GREY}
    least_first = difference.least_first[:MOST_CLASSES]
    return {
        "difference": difference,
        "levels": levels(run, difference),
        "percent": percent(difference.confidence),
        "colours": colours,
        "scale": max(0.05, *(abs(each) for change in changes for each in (change.value, *(change.bounds or ())))),
        "least_first": least_first,
        "losses": sentences.losses(difference.least_first) if difference.classes else "",
        "figure": class_figure(run.anchor(f"d{place}"), least_first, colours) if least_first else Markup(),
    }


def _training(run: MeasureRun, found: RecordFound, difference: Difference) -> dict[str, Any]:
    """How a hardening was done, ready for the template."""
    record = found.record
    assert record is not None
    return {
        "trained_on": sentences.trained_on(record.about),
        "too_costly": sentences.too_costly(record),
        "far": is_far(record),
        "figure": candidate_figure(
            run.anchor("candidates"), record, run.looks[difference.before], run.looks[difference.after]
        ),
    }
