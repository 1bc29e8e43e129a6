"""The section of the measure `corruption-error`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa
from markupsafe import Markup
from rich.console import Group, RenderableType

from brittle.measures.corruption_error.options import PUBLISHED
from brittle.report.page.fewer import some_of
from brittle.report.page.section import Finding, MeasureRun, Remarks, Summary
from brittle.report.page.words import counted, estimate, percent
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection, line, plain_table
from brittle.report.sections.corruption_error.figures import errors_figure
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.references import CNS_BENCH_2025, HENDRYCKS_2019

LEADS = 0.4
MOST_PRINTED = 40  # rows
MOST_SHIFTS = 2  # with columns of their own on the console
LIMITS = (
    "CE and rCE are ratios to one reference classifier on these very images: with another reference, or other images, "
    "they are other numbers, and can't be set beside published ones.",
    "A low rCE may come from high errors without a shift as well as from low ones under it: read it beside accuracy.",
    "mCE gives every shift the same weight, however much or little it does to images.",
)


@register("corruption-error")
class CorruptionErrorSection(BaseSection):
    """Errors under shifts, set against those of a reference classifier."""

    title = "Corruption errors"

    def console(self, summary: Summary) -> RenderableType:
        return Group(*_printed(summary["results"]))

    def table(self, summary: Summary) -> pa.Table:
        """A row per classifier, image set and shift, with the means over shifts in each."""
        return arrow(
            [
                flat({key: value for key, value in row.items() if key != "shifts"} | shift)
                for row in summary["results"]
                for shift in row["shifts"]
            ]
        )

    def findings(self, run: MeasureRun) -> Sequence[Finding]:
        return [
            Finding(text, LEADS)
            for _, rows in groupby(run.summary["results"], lambda row: row["image_set"])
            if (text := _headline(list(rows)))
        ][:2]

    def remarks(self, run: MeasureRun) -> Remarks:
        return Remarks(
            explanation="mCE and mean rCE are errors, and drops, under shifts divided by those of a reference "
            "classifier, averaged over shifts: lower is better.",
            limits=LIMITS,
            citing=f"the reference ({run.summary['results'][0]['reference']}), the shifts and their severities",
            references=(HENDRYCKS_2019, CNS_BENCH_2025),
        )

    def body(self, run: MeasureRun) -> Markup:
        parts = []
        for place, (images, group) in enumerate(groupby(run.summary["results"], lambda row: row["image_set"])):
            rows = sorted(group, key=lambda row: 1e9 if row["mce"] is None else row["mce"])
            shown = some_of(
                [row["classifier"] for row in rows], {row["classifier"]: -(row["mce"] or 0) for row in rows}
            )
            drawn = [row for row in rows if row["classifier"] in shown]
            parts.append(
                {
                    "images": images,
                    "rows": rows,
                    "figure": errors_figure(run.anchor(f"e{place}"), drawn, run.looks),
                    "drawn": len(drawn),
                }
            )
        return self.rendered("body.html.j2", run, parts=parts, published=PUBLISHED)


def _headline(rows: Sequence[Mapping[str, Any]]) -> str:
    """How the best of the others stands beside the reference, and how far that depends on the shift."""
    known = [row for row in rows if row["classifier"] != row["reference"] and row["mce_interval"] is not None]
    if not known:
        return ""
    best = min(known, key=lambda row: row["mce"])
    low, high = best["mce_interval"]
    than = "fewer errors than" if high < 1 else "more errors than" if low > 1 else "about as many errors as"
    who = best["classifier"] if len(known) == 1 else f"{best['classifier']}, the best of {len(known)},"
    several = len(best["shifts"]) > 1
    said = (
        f"{who} makes {than} {best['reference']} under {counted(len(best['shifts']), 'shift')} on {best['image_set']}: "
        f"{'mCE' if several else 'CE'} {estimate(best['mce'], best['mce_interval'])}"
    )
    least, most = (pick(best["shifts"], key=lambda shift: shift["ce"]) for pick in (min, max))
    if not several:
        return f"{said}."
    return f"{said}, from {least['ce']:.2f} under {least['nuisance']} to {most['ce']:.2f} under {most['nuisance']}."


def _printed(results: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    for images, group in groupby(results, lambda row: row["image_set"]):
        rows = list(group)
        shifts = [shift["nuisance"] for shift in rows[0]["shifts"]]
        several = len(shifts) > 1
        yield line(
            ("Corruption errors", "bold"),
            f" on {images}, {counted(rows[0]['images'], 'image')}, against {rows[0]['reference']}",
        )
        own = shifts[:MOST_SHIFTS] if 1 < len(shifts) <= MOST_SHIFTS else []
        names = ["mCE", "mean rCE"] if several else ["CE", "rCE"]
        table = plain_table("", *names, "drop", *(f"CE {shift}" for shift in own))
        for row in rows[:MOST_PRINTED]:
            table.add_row(
                row["classifier"],
                estimate(row["mce"], row["mce_interval"]),
                estimate(row["mean_rce"], row["mean_rce_interval"]),
                estimate(row["drop_over_images"], row["drop_over_images_interval"]),
                *(estimate(shift["ce"], None) for shift in row["shifts"][: len(own)]),
            )
        yield table
        if len(rows) > MOST_PRINTED:
            yield line(f"  … and {len(rows) - MOST_PRINTED} more classifiers (--json or --out has them all)")
        without = "; – without images at scale 0" if rows[0]["shifts"][0]["error_clean"] is None else ""
        over = f"means over {len(shifts)} shifts" if several else f"under {shifts[0]}"
        yield line(
            f"  {names[0]} and {names[1]}: {over}, lower is better; drop: over images"
            f"{', all shifts pooled' * several}{without}; {percent(rows[0]['confidence'])} intervals over images."
        )
        yield line()
