"""The section of the measure `shape`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa
from markupsafe import Markup
from rich.console import RenderableType

from brittle.report.page.pictures import EXACT_UP_TO
from brittle.report.page.section import MeasureRun, Summary, compared
from brittle.report.page.words import percent
from brittle.report.sections import register
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.legacy import Finding, LegacySection, Remarks
from brittle.report.sections.references import GEIRHOS_2019, GEIRHOS_2020, MARCU_2022, OWEN_2007
from brittle.report.sections.shape import words
from brittle.report.sections.shape.console import printed
from brittle.report.sections.shape.figures import MOST_SHOWN, bias_figure, kappa_figure, shuffled_figure
from brittle.report.sections.shape.pictures import strips

LEADS = 0.4  # how much a finding matters
MOST_FINDINGS = 3
MOST_PAIRS = 45
MOST_IN_FIGURE = 40  # deciders in a matrix of κ


@register("shape")
class ShapeSection(LegacySection):
    """What classifiers go by, shape or texture, and whose errors are alike."""

    title = "Shape and texture"

    def console(self, summary: Summary) -> RenderableType:
        return printed(summary)

    def table(self, summary: Summary) -> pa.Table:
        """A row per classifier, image set and grid; one per classifier on cue-conflict stimuli."""
        rows = []
        for row in summary["results"]:
            beside = {key: value for key, value in row.items() if key not in ("shuffled", "cue_conflict")}
            told = {key: value for key, value in (row["cue_conflict"] or {}).items() if key != "per_class"}
            rows += [flat(beside | told | each) for each in row["shuffled"] or [{}]]
        return arrow(rows)

    def findings(self, run: MeasureRun) -> Sequence[Finding]:
        said = []
        for pair in run.summary["comparisons"]:
            names = {"first": (pair["first"], pair["second"]), "second": (pair["second"], pair["first"])}
            if pair["larger"] in names:
                more, less = names[pair["larger"]]
                text = (
                    f"{words.what(pair).capitalize()} is higher for {more} than for {less}: by "
                    f"{100 * abs(pair['difference']):.1f} points ({percent(pair['confidence'])} interval of the "
                    f"difference {words.apart(pair['difference'], pair['interval'])})."
                )
                said.append(Finding(text, LEADS, compared(pair["image_set"], more, less)))
        return said[:MOST_FINDINGS] or [Finding(_alone(row), LEADS) for row in run.summary["results"][:2]]

    def remarks(self, run: MeasureRun) -> Remarks:
        return Remarks(
            explanation="Shape bias: of answers that are a stimulus’s shape or texture, the share that is the shape. "
            "Error consistency κ: how much more often than by chance two are wrong on the same images.",
            limits=words.LIMITS,
            references=(MARCU_2022, GEIRHOS_2019, GEIRHOS_2020, OWEN_2007),
        )

    def body(self, run: MeasureRun) -> Markup:
        groups = groupby(run.summary["results"], lambda row: row["image_set"])
        parts = [_part(run, place, images, list(rows)) for place, (images, rows) in enumerate(groups)]
        return self.rendered("body.html.j2", run, parts=parts, words=words, percent=percent, most_shown=MOST_SHOWN)


def _alone(row: words.Row) -> str:
    told = row["cue_conflict"]
    if told is not None:
        return (
            f"{row['classifier']} goes by shape in {words.shares(told['shape_bias'], told['shape_bias_interval'])} of "
            f"its answers that are shape or texture."
        )
    each = max(row["shuffled"], key=lambda one: one["points_lost"])
    gathered = f", of which {words.top(each)}" if 0 < each["points_to_top"] <= each["points_lost"] else ""
    return (
        f"On {words.grid(each['grid'])} shuffled patches, {row['classifier']} loses {each['points_lost']:.1f} points "
        f"of accuracy{gathered}."
    )


def _part(run: MeasureRun, place: int, images: str, rows: list[words.Row]) -> dict[str, Any]:
    """Everything of one image set, ready for the template."""
    also = [each for each in run.summary["deciders"] if each["image_set"] == images]
    alike = [pair for pair in run.summary["consistency"] if pair["image_set"] == images]
    conflict, chosen = rows[0]["cue_conflict"] is not None, run.whole.chosen(images)
    deciders = len(rows) + len(also)
    return {
        "images": images,
        "rows": rows,
        "also": also,
        "conflict": conflict,
        "figure": (
            bias_figure(run.anchor(f"f{place}"), rows, also, run.looks)
            if conflict
            else shuffled_figure(run.anchor(f"f{place}"), rows, run.looks)
        ),
        "pairs": [pair for pair in run.summary["comparisons"] if pair["image_set"] == images][:MOST_PAIRS],
        "alike": alike[:MOST_PAIRS],
        "all_alike": len(alike),
        "people": [each for each in run.summary["people"] if each["image_set"] == images],
        "matrix": kappa_figure(run.anchor(f"k{place}"), alike) if 3 <= deciders <= MOST_IN_FIGURE else None,
        "shown": strips(run, images, [row["classifier"] for row in rows]),
        "small": chosen is not None and max(chosen.images.shape[1:]) <= EXACT_UP_TO,
    }
