"""The section of the measure `line`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from markupsafe import Markup
from rich.console import Group, RenderableType

from brittle.report.page.section import Finding, MeasureRun, Remarks, Summary
from brittle.report.page.words import estimate as told
from brittle.report.page.words import listed, number, percent
from brittle.report.sections import register
from brittle.report.sections.base import EVERYTHING, BaseSection, line, plain_table
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.line import words
from brittle.report.sections.line.figures import MOST_SHIFTS, by_severity, gains_figure, scatter
from brittle.report.sections.references import CNS_BENCH_2025, MILLER_2021, TAORI_2020

LEADS = 0.35
MOST_PRINTED = 16
MOST_DRAWN = 24  # gains
LIMITS = (
    "A line is over the models of this study: whether others lie on it is another question, and models trained alike "
    "are fewer than they look.",
    "A partial correlation says what goes together once accuracy is taken away, not what causes it; with few models "
    "its p-value is large whatever its size.",
    "An effect of size can be told only from at least five sizes of one architecture, each trained with several seeds.",
    "Intervals and p-values are over models; that accuracies are themselves estimates is not counted.",
)


@register("line")
class LineSection(BaseSection):
    """Whether accuracy under shifts follows from accuracy without."""

    title = "Accuracy on the line"

    def console(self, summary: Summary) -> RenderableType:
        return Group(*(each for row in summary["results"] for each in _printed(row)))

    def table(self, summary: Summary) -> pa.Table:
        """A row per image set and model."""
        return arrow(
            [{"image_set": row["image_set"]} | flat(point) for row in summary["results"] for point in row["points"]]
        )

    def findings(self, run: MeasureRun) -> Sequence[Finding]:
        said = []
        for row in run.summary["results"]:
            found = row["lines"]["plain"]
            if found["slope"] is None:
                continue
            apart = [point["model"] for point in row["points"] if words.beyond(point)]
            off = f"; {listed(apart)} {'lies' if len(apart) == 1 else 'lie'} off the line" if apart else ""
            same = f" {words.SAME_IMAGES.capitalize()}." if row.get("same_images") else ""
            goes = "goes with" if found["p_value"] < 0.05 else "can’t be told to go with"
            said.append(
                Finding(
                    f"Over {row['models']} models, accuracy under shifts {goes} accuracy without: "
                    f"{words.line(found)}{off}.{same}",
                    LEADS,
                )
            )
        return said[:2]

    def remarks(self, run: MeasureRun) -> Remarks:
        first = run.summary["results"][0]
        return Remarks(
            explanation="A gain is accuracy under shifts beyond what the line of the other models gives.",
            limits=LIMITS,
            citing=f"which accuracy is in-distribution ({first['identical']}) and the baseline of gains",
            references=(CNS_BENCH_2025, MILLER_2021, TAORI_2020),
        )

    def body(self, run: MeasureRun) -> Markup:
        parts = [
            {
                "row": row,
                "scatter": scatter(run.anchor(f"s{place}"), row, run.looks),
                "severity": by_severity(run.anchor(f"v{place}"), row["shifts"][:MOST_SHIFTS]),
                "gains": gains_figure(run.anchor(f"g{place}"), row, run.looks, MOST_DRAWN),
            }
            for place, row in enumerate(run.summary["results"])
        ]
        return self.rendered("body.html.j2", run, parts=parts, words=words, drawn=MOST_DRAWN, shifts=MOST_SHIFTS)


def _printed(row: words.Row) -> Iterator[RenderableType]:
    yield line(
        ("Accuracy on the line", "bold"), f", {row['models']} models: {row['shifted']}, against {row['identical']}"
    )
    yield line(f"  {words.line(row['lines']['plain'])}; on probit axes {words.line(row['lines']['probit'])}")
    if row.get("same_images"):
        yield line(f"  {words.SAME_IMAGES} (id = … names other images)")
    table = plain_table("", "accuracy", "under shifts", "gain", "effective robustness (probit)")
    ordered = sorted(row["points"], key=lambda point: -(point["gain"] if point["gain"] is not None else -9))
    for point in ordered[:MOST_PRINTED]:
        table.add_row(
            point["model"],
            number(point["accuracy"]),
            number(point["accuracy_shifted"]),
            told(point["gain"], point["gain_interval"], "+"),
            told(point["effective_robustness"], point["effective_robustness_interval"], "+"),
        )
    yield table
    if len(ordered) > MOST_PRINTED:
        yield line(f"  … and {len(ordered) - MOST_PRINTED} more models ({EVERYTHING})")
    for entry in row["partial"]:
        within = f" within {entry['family']}" if entry["family"] else ""
        yield line(f"  partial correlation of {entry['attribute']}{within}, given accuracy: {words.partial(entry)}")
    yield line(
        f"  gain: beyond the line of the other baseline models; {percent(row['confidence'])} intervals for models on "
        f"it, all {row['models']} at once."
    )
    yield line()
