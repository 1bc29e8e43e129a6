"""The section of the measure `interference`."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from brittle.report.blocks import (
    Axis,
    Bars,
    Block,
    Cell,
    Count,
    Estimate,
    Figure,
    Group,
    Panel,
    Role,
    Rule,
    Sentence,
    Styled,
    Table,
    TableCell,
    Text,
    Weighted,
    category_axis,
)
from brittle.report.blocks.wording import estimate, p_value
from brittle.report.page.section import MeasureRun, Summary
from brittle.report.page.words import sentence
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.interference import sentences
from brittle.report.sections.interference.sentences import Row
from brittle.report.sections.references import MARCU_2022

LEADS = 0.4
MOST_CLASSES = 24
MOST_PRINTED = 30
MOST_OPEN = 4  # rows whose figures are unfolded
R, MAX = Styled("r", "sub"), Styled("max", "sub")
DEFINED: Text = (
    "A distortion may bring along what a classifier takes for features of some class; a number measured with it is "
    "then about the artefact as much as about robustness. The data interference index DI = E", R, "[c", MAX,
    "/Σc] · E", R, "[c", MAX, "] (Marcu & Prügel-Bennett 2022, equation 1) is high where what becomes wrong goes "
    "to one class, in all runs of a model. It is biased upwards: read it beside the chance level.",
)  # fmt: skip


@register("interference")
class InterferenceSection(BaseSection):
    """What a distortion itself adds: whether its errors gather in one class."""

    title = "Interference"

    def brief(self, summary: Summary) -> Sequence[Block]:
        rows = summary["results"]
        several = len({row["image_set"] for row in rows}) > 1
        table = Table(
            ("", "nuisance", *(["images"] if several else []), "DI", "by chance", "p", "top class", "in runs"),
            tuple(
                (
                    *(row["group"], row["nuisance"], *([row["image_set"]] if several else [])),
                    *(Estimate(row["di"], missing="undefined"), *_chance(row, "(95 %: ", ")"), *_top(row)),
                )
                for row in rows[:MOST_PRINTED]
            ),
        )
        more = len(rows) - MOST_PRINTED
        lines = [f"{_about(row, several)}: {_remarks(row)}" for row in rows[:MOST_PRINTED]]
        lines += [f"… and {more} more (--json or --out has them all)"] if more > 0 else []
        heading = (Styled("Interference"), ": does what a nuisance gets wrong go to one class?")
        return [Group(heading, (table, *map(Sentence, lines)))]

    def table(self, summary: Summary) -> pa.Table:
        """A row per group, image set and nuisance."""
        return arrow([flat({k: v for k, v in row.items() if k != "per_class"}) for row in summary["results"]])

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        gathering = [row for row in run.summary["results"] if sentences.gathers(row)][:3]
        return [Weighted(Sentence(f"{sentences.headline(row)}.", "finding"), LEADS) for row in gathering]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        rows = run.summary["results"]
        means = "DI: how much of what a nuisance gets wrong goes to one class, over the runs of a model."
        return [
            Sentence(DEFINED),
            _table(rows, run.many_sets),
            *(_group(row, run.many_sets, place < MOST_OPEN) for place, row in enumerate(rows)),
            Sentence(means, "definition"),
            *(Sentence(text, "limit") for text in sentences.LIMITS),
            Sentence(MARCU_2022, "reference"),
        ]


def _about(row: Row, many_sets: bool) -> str:
    on = f" on {row['image_set']}" if many_sets else ""
    return f"{row['group']} under {row['nuisance']}{on}"


def _remarks(row: Row) -> str:
    said = (sentences.points(row), sentences.consistency(row), sentences.two_classes(row))
    return "; ".join(filter(None, said))


def _chance(row: Row, before: str, after: str) -> tuple[TableCell, TableCell]:
    """The index by chance with its 95th percentile, and the p-value."""
    spread = row["chance_spread"]
    high = Styled(f"{before}{spread['high']:.3f}{after}", "soft")
    return (Estimate(spread["mean"]), " ", high), p_value(spread["p_value"])


def _top(row: Row) -> tuple[TableCell, TableCell]:
    return f"{row['top_class'] or '–'}{sentences.also(row)}", Count(row["agreeing_runs"], row["runs"])


def _table(rows: Sequence[Row], many_sets: bool) -> Table:
    return Table(
        (
            *("model", "nuisance", *(["image set"] if many_sets else [])),
            *("DI", "by chance, errors spread", "p", "by chance, one class per run", "worst case"),
            *("top class", "top in runs"),
        ),
        tuple(
            (
                *(row["group"], row["nuisance"], *([row["image_set"]] if many_sets else [])),
                *(_index(row), *_chance(row, "95 %: ", "")),
                *(Estimate(row["chance_one_class"]["mean"]), Estimate(row["worst_case"]), *_top(row)),
            )
            for row in rows
        ),
    )


def _index(row: Row) -> TableCell:
    found = estimate(row, "di", "rough_interval", missing="undefined")
    return (found, Styled(" rough", "soft")) if found.low is not None else found


def _group(row: Row, many_sets: bool, unfolded: bool) -> Group:
    found, few = sentences.consistency(row), sentences.two_classes(row)
    names_class = row["runs"] > 1 and row["di"] is not None  # which is written as it is
    said = " ".join([f"{found}." if names_class else sentence(found), *([sentence(few)] if few else [])])
    return Group(
        f"{_about(row, many_sets)}: {sentences.points(row)}",
        (Sentence(said, "note"), _figure(row)),
        "open" if unfolded else "closed",
        about=Cell(row["image_set"], row["nuisance"]),
    )


def _figure(row: Row) -> Figure:
    """The change of wrong predictions into each class, a bar per run (figure 2 of the paper)."""
    shown = sorted(row["per_class"], key=lambda each: -sum(each["increases"]))[:MOST_CLASSES]
    runs, count = row["runs"], len(shown)
    width = 0.8 / runs
    bars = tuple(
        Bars(
            Role("first"),
            tuple(place - 0.4 + (run + 0.5) * width for place in range(count)),
            tuple(each["increases"][run] for each in shown),
            width=width * 0.9,
            faint=(0.35 + 0.65 * (run + 1) / runs,) * count,
        )
        for run in range(runs)
    )
    evenly = Rule(max(0.0, row["points_lost"]) / row["classes"], "x", Role("worse"), "dashed")
    return Figure(
        f"change of wrong predictions into each class, {row['group']} under {row['nuisance']}: {sentences.points(row)}",
        (
            Panel(
                (*bars, Rule(0.0, "x"), evenly),
                category_axis([each["class"] for each in shown], slanted=count > 6),
                Axis("wrong predictions, change\nin points of all images", grid=True),
            ),
        ),
        "Bars: change of wrong predictions into each class, one bar per run; dashed: what each would gain if errors "
        "were spread evenly.",
    )
