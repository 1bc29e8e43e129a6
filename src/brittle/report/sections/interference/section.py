"""The section of the measure `interference`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from markupsafe import Markup
from matplotlib.figure import Figure
from rich.console import Group, RenderableType

from brittle.report.page.distortion import also
from brittle.report.page.figures import WIDTH, short, svg
from brittle.report.page.section import MeasureRun, Summary
from brittle.report.page.words import number
from brittle.report.sections import register
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.interference import sentences
from brittle.report.sections.legacy import Finding, LegacySection, Remarks, line, plain_table
from brittle.report.sections.references import MARCU_2022

LEADS = 0.4
MOST_CLASSES = 24
MOST_PRINTED = 30


@register("interference")
class InterferenceSection(LegacySection):
    """What a distortion itself adds: whether its errors gather in one class."""

    title = "Interference"

    def console(self, summary: Summary) -> RenderableType:
        return Group(*_printed(summary["results"]))

    def table(self, summary: Summary) -> pa.Table:
        """A row per group, image set and nuisance."""
        return arrow([flat({k: v for k, v in row.items() if k != "per_class"}) for row in summary["results"]])

    def findings(self, run: MeasureRun) -> Sequence[Finding]:
        return [
            Finding(f"{sentences.headline(row)}.", LEADS) for row in run.summary["results"] if sentences.gathers(row)
        ][:3]

    def remarks(self, run: MeasureRun) -> Remarks:
        return Remarks(
            explanation="DI: how much of what a nuisance gets wrong goes to one class, over the runs of a model.",
            limits=sentences.LIMITS,
            references=(MARCU_2022,),
        )

    def beside(self, run: MeasureRun, images: str, nuisance: str) -> Markup | None:
        rows = [row for row in run.summary["results"] if (row["image_set"], row["nuisance"]) == (images, nuisance)]
        return self.rendered("beside.html.j2", run, rows=rows, words=sentences) if rows else None

    def body(self, run: MeasureRun) -> Markup:
        rows = run.summary["results"]
        figures = [_figure(run.anchor(f"i{place}"), row) for place, row in enumerate(rows)]
        return self.rendered("body.html.j2", run, rows=list(zip(rows, figures, strict=True)), words=sentences)


def _printed(rows: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    yield line(("Interference", "bold"), ": does what a nuisance gets wrong go to one class?")
    several = len({row["image_set"] for row in rows}) > 1
    heads = ("", "nuisance", *(["images"] if several else []), "DI", "by chance", "p", "top class", "in runs")
    table = plain_table(*heads, folds=2)
    for row in rows[:MOST_PRINTED]:
        chance = row["chance_spread"]
        table.add_row(
            row["group"],
            row["nuisance"],
            *([row["image_set"]] if several else []),
            "undefined" if row["di"] is None else number(row["di"]),
            f"{chance['mean']:.3f} (95 %: {chance['high']:.3f})",
            f"{chance['p_value']:.2g}",
            f"{row['top_class'] or '–'}{also(row)}",
            f"{row['agreeing_runs']} of {row['runs']}",
        )
    yield table
    for row in rows[:MOST_PRINTED]:
        said = [sentences.points(row), sentences.consistency(row), sentences.two_classes(row)]
        on = f" on {row['image_set']}" if several else ""
        yield line(f"  {row['group']} under {row['nuisance']}{on}: {'; '.join(filter(None, said))}")
    if len(rows) > MOST_PRINTED:
        yield line(f"  … and {len(rows) - MOST_PRINTED} more (--json or --out has them all)")


def _figure(key: str, row: Mapping[str, Any]) -> Markup:
    """The change of wrong predictions into each class, a bar per run (figure 2 of the paper)."""
    shown = sorted(row["per_class"], key=lambda each: -sum(each["increases"]))[:MOST_CLASSES]
    runs = row["runs"]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        width = 0.8 / runs
        for run in range(runs):
            places = [place - 0.4 + (run + 0.5) * width for place in range(len(shown))]
            heights = [each["increases"][run] for each in shown]
            axes.bar(places, heights, width * 0.9, color="#0072b2", alpha=0.35 + 0.65 * (run + 1) / runs)
        axes.axhline(0, color="#666666", linewidth=0.8)
        axes.axhline(
            max(0.0, row["points_lost"]) / row["classes"], color="#d55e00", linewidth=1.0, linestyle=(0, (4, 3))
        )
        names = [short(each["class"], 14) for each in shown]
        axes.set_xticks(
            range(len(shown)), names, rotation=30 if len(shown) > 6 else 0, ha="right" if len(shown) > 6 else "center"
        )
        axes.set_ylabel("wrong predictions, change\nin points of all images")
        axes.grid(axis="y")
        axes.set_axisbelow(True)

    about = (
        f"change of wrong predictions into each class, {row['group']} under {row['nuisance']}: {sentences.points(row)}"
    )
    return svg(key, (WIDTH, 3.2), about, draw)
