"""The section of the measure `interference`."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.blocks import Block, Cell, Group, Sentence, Weighted
from brittle.report.blocks.figure import Axis, Bars, Figure, Role, Rule, category_axis
from brittle.report.blocks.text import Styled, TableCell, Text
from brittle.report.blocks.wording import estimate, p_value
from brittle.report.page.section import MeasureRun, Row, Summary
from brittle.report.page.words import sentence
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection, finding, remarks
from brittle.report.sections.comparisons import capped
from brittle.report.sections.distortion import errors_gather, points, tied_classes
from brittle.report.sections.marks import chart
from brittle.report.sections.references import MARCU_2022
from brittle.report.sections.tables import Making, bare, count, table, text

LIMITS = (
    "The DI index says that errors gather in one class, not why: the distortion may bring features of that class, or "
    "destroy those of others.",
    "Its maximum and its positive part bias it upwards: read it against the chance level beside it, not against zero.",
    "The interval over runs is a bootstrap of a handful of runs, and rough.",
)
LEADS = 0.4
MOST_CLASSES = 24
MOST_PRINTED = 30
MOST_OPEN = 4  # rows whose figures are unfolded
P = ("p", lambda row: p_value(row["chance_spread"]["p_value"]))
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

    listed, without = "results", ("per_class",)

    def brief(self, summary: Summary) -> Sequence[Block]:
        rows = summary["results"]
        several = len({row["image_set"] for row in rows}) > 1
        shown = table(
            rows[:MOST_PRINTED],
            ("", text("group")),
            ("nuisance", text("nuisance")),
            *[("images", text("image_set"))] * several,
            ("DI", bare("di", missing="undefined")),
            ("by chance", _chance("(95 %: ", ")")),
            P,
            ("top class", _top),
            ("in runs", count("agreeing_runs", "runs")),
        )
        heading = (Styled("Interference"), ": does what a nuisance gets wrong go to one class?")
        lines = capped([f"{_about(row, several)}: {_remarks(row)}" for row in rows], most=MOST_PRINTED)
        return [Group(heading, (shown, *lines))]

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        gathering = [row for row in run.summary["results"] if errors_gather(row)][:3]
        return [finding(f"{_headline(row)}.", LEADS) for row in gathering]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        rows, means = run.summary["results"], "how much of what a nuisance gets wrong goes to one class"
        return [
            Sentence(DEFINED),
            table(
                rows,
                ("model", text("group")),
                ("nuisance", text("nuisance")),
                *[("image set", text("image_set"))] * run.many_sets,
                ("DI", _index),
                ("by chance, errors spread", _chance("95 %: ", "")),
                P,
                ("by chance, one class per run", bare("chance_one_class.mean")),
                ("worst case", bare("worst_case")),
                ("top class", _top),
                ("top in runs", count("agreeing_runs", "runs")),
            ),
            *(_group(row, run.many_sets, place < MOST_OPEN) for place, row in enumerate(rows)),
            *remarks(f"DI: {means}, over the runs of a model.", LIMITS, references=(MARCU_2022,)),
        ]


def _about(row: Row, many_sets: bool) -> str:
    on = f" on {row['image_set']}" if many_sets else ""
    return f"{row['group']} under {row['nuisance']}{on}"


def _remarks(row: Row) -> str:
    said = (points(row), _consistency(row), _two_classes(row))
    return "; ".join(filter(None, said))


def _chance(before: str, after: str) -> Making:
    """The index by chance, with its 95th percentile."""

    def made(row: Row) -> TableCell:
        high = Styled(f"{before}{row['chance_spread']['high']:.3f}{after}", "soft")
        return estimate(row["chance_spread"], "mean"), " ", high

    return made


def _top(row: Row) -> str:
    return f"{row['top_class'] or '–'}{tied_classes(row)}"


def _index(row: Row) -> TableCell:
    found = estimate(row, "di", "rough_interval", missing="undefined")
    return (found, Styled(" rough", "soft")) if found.low is not None else found


def _group(row: Row, many_sets: bool, unfolded: bool) -> Group:
    found, few = _consistency(row), _two_classes(row)
    names_class = row["runs"] > 1 and row["di"] is not None  # which is written as it is
    said = " ".join([f"{found}." if names_class else sentence(found), *([sentence(few)] if few else [])])
    return Group(
        f"{_about(row, many_sets)}: {points(row)}",
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
    return chart(
        f"change of wrong predictions into each class, {row['group']} under {row['nuisance']}: {points(row)}",
        (*bars, Rule(0.0, "x"), evenly),
        category_axis([each["class"] for each in shown], slanted=count > 6),
        Axis("wrong predictions, change\nin points of all images", grid=True),
        "Bars: change of wrong predictions into each class, one bar per run; dashed: what each would gain if errors "
        "were spread evenly.",
    )


def _consistency(row: Row) -> str:
    if row["di"] is None:
        return "the index is undefined"
    if row["runs"] == 1:
        return "one run: whether others favour the same class is unknown"
    return f"{row['top_class']} is the top class of {row['agreeing_runs']} of {row['runs']} runs"


def _headline(row: Row) -> str:
    """For the top of the report, where errors gather."""
    return (
        f"Under {row['nuisance']}, errors of {row['group']} gather in {row['top_class']}: {points(row)}. "
        f"That is more than chance gives (DI {row['di']:.2f}, by chance {row['chance_spread']['mean']:.2f})"
    )


def _two_classes(row: Row) -> str:
    return "with two classes every error goes to the other one: the index says little" if row["classes"] == 2 else ""
