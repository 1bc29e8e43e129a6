"""The section of the measure `line`."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from brittle.report.blocks import Block, Group, Sentence, Table, Weighted
from brittle.report.blocks.text import ClassifierName, Styled
from brittle.report.blocks.wording import p_value
from brittle.report.page import words
from brittle.report.page.section import MeasureRun, Row, Summary
from brittle.report.page.words import listed, number, percent
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection, finding, remarks
from brittle.report.sections.flatten import arrow, flat
from brittle.report.sections.grouped import with_set
from brittle.report.sections.line.figures import by_severity, gains_figure, scatter
from brittle.report.sections.references import CNS_BENCH_2025, MILLER_2021, TAORI_2020
from brittle.report.sections.tables import bare, count, estimated, pairs, table, text

SAME_IMAGES = "both accuracies are of the same images, whose luck they share: some of the correlation is due to that"
LEADS = 0.35
MOST_PRINTED = 16
MOST_OPEN = 12  # models in a table that is not folded away
LIMITS = (
    "A line is over the models of this study: whether others lie on it is another question, and models trained alike "
    "are fewer than they look.",
    "A partial correlation says what goes together once accuracy is taken away, not what causes it; with few models "
    "its p-value is large whatever its size.",
    "An effect of size can be seen only from at least five sizes of one architecture, each trained with several seeds.",
    "Intervals and p-values are over models; that accuracies are themselves estimates is not counted.",
)


@register("line")
class LineSection(BaseSection):
    """Whether accuracy under shifts follows from accuracy without."""

    title = "Accuracy on the line"

    def brief(self, summary: Summary) -> Sequence[Block]:
        return [_printed(row) for row in summary["results"]]

    def table(self, summary: Summary) -> pa.Table:
        """A row per image set and model."""
        return arrow(
            [{"image_set": row["image_set"]} | flat(point) for row in summary["results"] for point in row["points"]]
        )

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        known = [row for row in run.summary["results"] if row["lines"]["plain"]["slope"] is not None]
        return [finding(_headline(row), LEADS) for row in known[:2]]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        results = run.summary["results"]
        return [
            Sentence(
                "Accuracy under shifts against accuracy without, over the models of the study (Miller et al. 2021; A.6 "
                "of CNS-Bench 2025). Several trainings of one model, a group, are one point. On probit axes, Φ⁻¹ of "
                "both, what is left of the line is effective robustness (Taori et al. 2020)."
            ),
            *(_part(run, row) for row in results),
            *remarks(
                "A gain is accuracy under shifts beyond what the line of the other models gives.",
                LIMITS,
                f"which accuracy is in-distribution ({results[0]['identical']}) and the baseline of gains",
                (CNS_BENCH_2025, MILLER_2021, TAORI_2020),
            ),
        ]


def _headline(row: Row) -> str:
    found = row["lines"]["plain"]
    apart = [point["model"] for point in row["points"] if _lies_off(point)]
    off = f"; {listed(apart)} {'lies' if len(apart) == 1 else 'lie'} off the line" if apart else ""
    same = f" {SAME_IMAGES.capitalize()}." if row.get("same_images") else ""
    goes = "goes with" if found["p_value"] < 0.05 else "can’t be shown to go with"
    return f"Over {row['models']} models, accuracy under shifts {goes} accuracy without: {_through(found)}{off}.{same}"


def _models(points: Sequence[Row], first: str) -> Table:
    return table(
        points,
        (first, lambda point: ClassifierName(point["classifiers"][0], point["model"])),
        ("accuracy", bare("accuracy")),
        ("under shifts", bare("accuracy_shifted")),
        ("gain", estimated("gain", signed=True)),
        ("effective robustness (probit)", estimated("effective_robustness", signed=True)),
        shown=MOST_PRINTED,
        noun="model",
    )


def _printed(row: Row) -> Group:
    lines = row["lines"]
    same = [Sentence(f"{SAME_IMAGES} (id = … names other images)")] if row.get("same_images") else []
    ordered = sorted(row["points"], key=lambda point: -(point["gain"] if point["gain"] is not None else -9))
    within = [f" within {entry['family']}" if entry["family"] else "" for entry in row["partial"]]
    partial = [
        f"partial correlation of {entry['attribute']}{where}, given accuracy: {_correlated(entry)}"
        for entry, where in zip(row["partial"], within, strict=True)
    ]
    return Group(
        (
            Styled("Accuracy on the line"),
            f", {row['models']} models: {row['shifted']}, against {row['identical']}",
        ),
        (
            Sentence(f"{_through(lines['plain'])}; on probit axes {_through(lines['probit'])}"),
            *same,
            _models(ordered, ""),
            *map(Sentence, partial),
            Sentence(
                f"gain: beyond the line of the other baseline models; {percent(row['confidence'])} intervals for "
                f"models on it, all {row['models']} at once."
            ),
        ),
    )


def _part(run: MeasureRun, row: Row) -> Group:
    same = (f"; {SAME_IMAGES}. The option ", Styled("id", "code"), " names other images.")
    about = pairs(
        ("in-distribution", (row["identical"], *(same if row.get("same_images") else ()))),
        ("under shifts", row["shifted"]),
        ("line", _through(row["lines"]["plain"])),
        ("on probit axes", _through(row["lines"]["probit"])),
    )
    blocks: list[Block] = [about, scatter(row)]
    if row["lines"]["plain"]["slope"] is not None:
        blocks.append(Group("By severity", (by_severity(row["shifts"]),)))
    nothing = "Nothing: the baseline models do not vary in accuracy, so that no line goes through them."
    blocks += [
        Group("What is left once the line is taken away", (gains_figure(row) or Sentence(nothing, "note"),)),
        Group(
            "Every model",
            (_models(row["points"], "model"),),
            "open" if len(row["points"]) <= MOST_OPEN else "closed",
        ),
    ]
    if row["partial"]:
        blocks.append(_partial(row["partial"]))
    return Group(with_set(run, f"{row['models']} models", row["image_set"]), tuple(blocks))


def _partial(entries: Sequence[Row]) -> Group:
    shown = table(
        entries,
        ("attribute", text("attribute")),
        ("among", lambda entry: entry["family"] or "all"),
        ("models", count("models")),
        ("correlation", estimated("correlation", "interval", signed=True)),
        ("p", lambda entry: p_value(entry["p_value"])),
        ("of its logarithm", estimated("log_correlation", "log_interval", signed=True)),
        ("p", lambda entry: p_value(entry["log_p_value"])),
        ("tells an effect by itself", lambda entry: "yes" if entry["by_itself"] else "no"),
    )
    note = (
        "The correlation of what is left of both once their lines on accuracy are taken away. An attribute tells an "
        "effect by itself only where five values of it stand within one architecture, each trained with several seeds: "
        "otherwise whatever else differs may be behind it."
    )
    return Group("Partial correlations, given accuracy without a shift", (shown, Sentence(note, "note")))


def _equals(value: float | None) -> str:
    """p = 0.03; p < 0.001"""
    said = words.p_value(value)
    return f"p {said}" if said.startswith("<") else f"p = {said}"


def _ends(bounds: Sequence[float]) -> str:
    return f"[{number(bounds[0], 2)}, {number(bounds[1], 2)}]"


def _through(found: Row) -> str:
    """slope 1.32 [1.07, 1.58], correlation 0.98 (p < 0.001)"""
    if found["slope"] is None:
        return "no line: accuracies do not vary"
    return (
        f"slope {number(found['slope'], 2)} {_ends(found['slope_interval'])}, correlation "
        f"{number(found['correlation'], 2)} ({_equals(found['p_value'])})"
    )


def _correlated(entry: Row) -> str:
    """−0.36 (p = 0.64; 5 models)"""
    if entry["correlation"] is None:
        return "undefined: it follows from accuracy alone"
    return f"{number(entry['correlation'], 2)} ({_equals(entry['p_value'])}; {entry['models']} models)"


def _lies_off(point: Row, name: str = "gain") -> bool:
    """Whether a model's gain is more than a model on the line could have."""
    ends = point[f"{name}_interval"]
    return ends is not None and (ends[0] > 0 or ends[1] < 0)
