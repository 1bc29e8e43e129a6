"""The section of the measure `ranking`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa
from markupsafe import Markup
from rich.console import RenderableType

from brittle.report.page.fewer import some_of
from brittle.report.page.section import Finding, MeasureRun, Remarks, Summary
from brittle.report.page.words import counted, listed
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection
from brittle.report.sections.flatten import arrow
from brittle.report.sections.ranking import words
from brittle.report.sections.ranking.console import printed
from brittle.report.sections.ranking.figures import bump_chart
from brittle.report.sections.references import CNS_BENCH_2025, HOLM_1979, MCNEMAR_1947

LEADS, LESS = 0.5, 0.3
MOST_FINDINGS = 3
MOST_OPEN = 3  # shifts whose rankings are unfolded
MOST_SWAPS = 20
LIMITS = (
    "A tie says that these images don’t tell two classifiers apart, not that they are equal: with more images there "
    "are fewer ties.",
    "Ranks by accuracy and by drop answer different questions: a classifier that is bad without a shift has little "
    "left to lose.",
    "The paper’s rule, overlap of one-standard-error intervals, ignores that classifiers are measured on the same "
    "images and that many pairs are looked at: it finds false differences, and misses true ones.",
)


@register("ranking")
class RankingSection(BaseSection):
    """Which classifier is best at each severity, and which change places."""

    title = "Rankings"

    def console(self, summary: Summary) -> RenderableType:
        return printed(summary["results"])

    def table(self, summary: Summary) -> pa.Table:
        """A row per image set, shift, number ranked by, classifier and severity."""
        keys = ("values", "low", "high", "rank_by_overlap", "rank", "rank_at_most")
        return arrow(
            [
                {
                    **{key: row[key] for key in ("image_set", "nuisance", "by", "unit", "images")},
                    "classifier": each["classifier"],
                    "severity": severity,
                    **{key.removesuffix("s") if key == "values" else key: each[key][place] for key in keys},
                }
                for row in summary["results"]
                for each in row["classifiers"]
                for place, severity in enumerate(row["severities"])
            ]
        )

    def findings(self, run: MeasureRun) -> Sequence[Finding]:
        by = [row for row in run.summary["results"] if row["by"] == "accuracy"]
        said = [
            Finding(
                f"Under {row['nuisance']}, rankings change along the scale: {words.swap(row, row['swaps'][0])}.", LEADS
            )
            for row in by
            if row["swaps"]
        ]
        if not said and by:
            said = [Finding(_steady(by), LESS)]
        return said[:MOST_FINDINGS]

    def remarks(self, run: MeasureRun) -> Remarks:
        first = run.summary["results"][0]
        return Remarks(
            explanation="A rank is 1 + the number of classifiers that are better beyond noise.",
            limits=LIMITS,
            citing=f"the shifts and severities, the number of images ({first['images']}) and the rule for ties",
            references=(CNS_BENCH_2025, MCNEMAR_1947, HOLM_1979),
        )

    def body(self, run: MeasureRun) -> Markup:
        results = run.summary["results"]
        shifts = [
            _shift(run, place, list(rows))
            for place, (_, rows) in enumerate(groupby(results, lambda row: (row["image_set"], row["nuisance"])))
        ]
        return self.rendered(
            "body.html.j2", run, shifts=shifts, words=words, open=MOST_OPEN, most_swaps=MOST_SWAPS, first=results[0]
        )


def _steady(rows: Sequence[words.Row]) -> str:
    changing = sum(row["changing_places"] for row in rows)
    over = listed([row["nuisance"] for row in rows])
    if changing:
        pairs = f"{counted(changing, 'pair')} of classifiers {'changes' if changing == 1 else 'change'}"
        return f"Under {over}, {pairs} places along the scale, none by more than noise."
    return f"Under {over}, rankings by accuracy are the same at every severity."


def _shift(run: MeasureRun, place: int, rows: list[words.Row]) -> dict[str, Any]:
    """Both rankings of one shift, ready for the template."""
    parts = []
    for number, row in enumerate(rows):
        ordered = words.in_order(row)
        scores = {each["classifier"]: -place for place, each in enumerate(ordered)}
        shown = some_of([each["classifier"] for each in ordered], scores)
        chosen = [each for each in ordered if each["classifier"] in shown]
        figure = bump_chart(run.anchor(f"r{place}-{number}"), row, chosen, run.looks)
        parts.append({"row": row, "ordered": ordered, "figure": figure, "drawn": len(chosen)})
    return {"images": rows[0]["image_set"], "nuisance": rows[0]["nuisance"], "parts": parts}
