"""The section of the measure `weak-points`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
from markupsafe import Markup
from rich.console import RenderableType

from brittle.measures.weak_points.diagnosis import FEWEST, GREATEST_K, GREATEST_RHAT
from brittle.report.page.confirmation import Confirmation
from brittle.report.page.section import MeasureRun, Summary
from brittle.report.sections import register
from brittle.report.sections.flatten import arrow
from brittle.report.sections.legacy import Finding, LegacySection, Remarks
from brittle.report.sections.references import FAWZI_2016, VEHTARI_2021, VEHTARI_2024
from brittle.report.sections.weak_points import sentences
from brittle.report.sections.weak_points.console import printed
from brittle.report.sections.weak_points.draws import nowhere
from brittle.report.sections.weak_points.entry import ShownEntry, shown_entries

MOST_HEADLINES = 3  # per image set, on top of the report
LEADS = 0.5  # how much a headline matters
OPEN_TABLE = 20  # past this many images the table of diagnostics is closed
MOST_ROWS = 1000


@register("weak-points")
class WeakPointsSection(LegacySection):
    """Where a classifier breaks, and what that looks like."""

    title = "Weak points"

    def console(self, summary: Summary) -> RenderableType:
        return printed(summary["entries"])

    def table(self, summary: Summary) -> pa.Table:
        """A row per image."""
        names = ("classifier", "image_set", "nuisance")
        return arrow(
            [{key: entry[key] for key in names} | row for entry in summary["entries"] for row in entry["per_image"]]
        )

    def findings(self, run: MeasureRun) -> Sequence[Finding]:
        """Where weak points lead, for some of the entries of each image set."""
        said: dict[str, list[Finding]] = {}
        for entry in run.summary["entries"]:
            images = entry["image_set"]
            names = run.whole.label_names(entry["classifier"], images).names
            headline = sentences.headline(entry, names)
            text = f"On {images}: {headline[0].lower()}{headline[1:]}" if run.many_sets else headline
            said.setdefault(images, []).append(Finding(text, LEADS))
        return [each for headlines in said.values() for each in headlines[:MOST_HEADLINES]]

    def remarks(self, run: MeasureRun) -> Remarks:
        label = self._label_word(run)
        return Remarks(
            explanation=f"A weak point is a θ drawn from the nuisance’s prior given that the classifier does not give "
            f"the {label}. Shares are of all weak points that have another label.",
            limits=sentences.LIMITS,
            references=(FAWZI_2016, VEHTARI_2021, VEHTARI_2024),
        )

    def body(self, run: MeasureRun) -> Markup:
        entries = run.once("entries", lambda: shown_entries(run))
        confirmation = reduce(Confirmation.plus, (each.confirmation for each in entries), Confirmation())
        return self.rendered(
            "body.html.j2",
            run,
            entries=entries,
            rest=_rest(run, entries),
            classifiers=len({entry["classifier"] for entry in run.summary["entries"]}),
            confirmation=confirmation,
            label=self._label_word(run),
            sampler=entries[0].entry["sampler"],
            nowhere=nowhere,
            counts=_counts(run, entries),
            open_table=OPEN_TABLE,
            most_rows=MOST_ROWS,
            fewest=FEWEST,
            greatest_rhat=GREATEST_RHAT,
            greatest_k=GREATEST_K,
        )

    def _label_word(self, run: MeasureRun) -> str:
        chosen = (run.whole.chosen(entry["image_set"]) for entry in run.summary["entries"])
        labelled = all(each is None or bool((each.images.labels >= 0).all()) for each in chosen)
        return "label" if labelled else "reference label"


def _rest(run: MeasureRun, shown: Sequence[ShownEntry]) -> list[dict[str, Any]]:
    """The entries that are not shown in full, with words for where they lead most often."""
    there = [each.entry for each in shown]
    rest = []
    for entry in run.summary["entries"]:
        if not any(entry is each for each in there):
            names = run.whole.label_names(entry["classifier"], entry["image_set"]).names
            flow = entry["flows"][0] if entry["flows"] else None
            leads = f"{names[flow['from']]} → {names[flow['to']]}, {100 * flow['share']:.0f} %" if flow else "–"
            rest.append({"entry": entry, "leads": leads})
    return rest


def _counts(run: MeasureRun, entries: Sequence[ShownEntry]) -> str:
    """8 images; image set by image set where there are several."""
    most: dict[str, int] = {}
    for each in entries:
        most[each.entry["image_set"]] = max(each.entry["images"], most.get(each.entry["image_set"], 0))
    return "; ".join(f"{count} images{f' of {name}' if run.many_sets else ''}" for name, count in most.items())
