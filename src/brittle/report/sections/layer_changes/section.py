"""The section of the measure `layer-changes`."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from brittle.report.blocks import Block, ClassifierName, Estimate, Group, Sentence, Styled, Table, Verdict, Weighted
from brittle.report.page.section import MeasureRun, Summary
from brittle.report.page.words import percent
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection
from brittle.report.sections.comparisons import better
from brittle.report.sections.layer_changes import words
from brittle.report.sections.layer_changes.figures import changes_figure
from brittle.report.sections.layered import (
    Row,
    by_images,
    chosen_layers,
    compared_pairs,
    layer_name,
    layer_table,
    with_same_layers,
)
from brittle.report.sections.references import UREM

LEADS = 0.4  # how much findings matter
MOST_FINDINGS = 3
LIMITS = (
    "Sizes are upper bounds on the smallest change: Adam minimises cross-entropy, not the size.",
    "Nobody can change what a layer gives without changing the network: only the input is open to whoever hands in "
    "images. The other layers say where a change does most, and no attack on them is proposed.",
    "A size relative to a layer’s root mean square compares layers by one yardstick among several: numbers that are "
    "almost always near zero, as after a ReLU, make a layer’s root mean square small beside its greatest values.",
)


@register("layer-changes")
class LayerChangesSection(BaseSection):
    """How far what each layer gives must be changed for a target to be predicted."""

    title = "Targeted changes of layers"

    def brief(self, summary: Summary) -> Sequence[Block]:
        return [
            *map(_printed, summary["results"]),
            *map(_printed_pairs, compared_pairs(summary)),
            Sentence(_closing(summary["results"][0])),
        ]

    def table(self, summary: Summary) -> pa.Table:
        return layer_table(summary)

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        rows = run.summary["results"][:MOST_FINDINGS]
        return [Weighted(Sentence(words.extremes(row), "finding"), LEADS) for row in rows]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        first = run.summary["results"][0]
        unlabelled = " These images have no labels: each counts as correct." if first["reference"] != "label" else ""
        return [
            Sentence(
                "How far what a layer gives must be changed for a target to be predicted (UREM, figure 2): Adam adds "
                f"to it, until p(target) ≥ {first['share']:g}. The relative size is the root mean square of the change "
                "over that of what the layer gives of the image. Sizes are upper bounds: Adam finds a change, not the "
                f"smallest one.{unlabelled}"
            ),
            *(_part(run, images, rows) for images, rows in by_images(run.summary)),
            Sentence("rms is the root mean square of what a layer gives of an image.", "definition"),
            *(Sentence(text, "limit") for text in LIMITS),
            Sentence(
                f"the probability to reach ({first['share']:g}), Adam’s step ({first['rate']:g}) and steps "
                f"({first['steps']})",
                "citation",
            ),
            Sentence(UREM, "reference"),
        ]


def _printed(row: Row) -> Group:
    table = Table(
        ("layer", "rms", "max", "max / rms", "reached"),
        tuple(
            (
                layer_name(each),
                words.size(each, "relative"),
                Estimate(each["linf"]),
                Estimate(each["linf_relative"], places=2),
                Estimate(each["reached"], places=1, format="percent"),
            )
            for each in row["layers"]
        ),
        noun="layer",
    )
    about = (
        f" on {row['image_set']}, {row['correct']} of {row['images']} images correct: change of what a layer gives at "
        "which a target is predicted"
    )
    said = map(Sentence, filter(None, (words.trend(row), words.which(row))))
    return Group((Styled(row["classifier"]), about), (table, *said))


def _printed_pairs(pairs: Sequence[Row]) -> Group:
    first = pairs[0]
    together = f", simultaneous over {first['family']} comparisons" if first["family"] > 1 else ""
    about = (
        f"share of the {first['images']} images of {first['image_set']} that both get right on which {first['first']} "
        f"needs a larger relative change than {first['second']}{together}"
    )
    table = Table(
        ("", "share of images", "needs more"),
        tuple((pair["layer"], words.size(pair, "larger", "interval"), Verdict(better(pair))) for pair in pairs),
        noun="layer",
    )
    return Group((Styled(about, "soft"),), (table,))


def _closing(row: Row) -> str:
    return (
        f"{words.how(row)}. Medians over images classified correctly, with {percent(row['confidence'])} intervals; "
        "failures count as larger than anything found. rms: root mean square of the change over that of what the layer "
        f"gives; sizes are upper bounds on the smallest change; seed {row['seed']}."
    )


def _part(run: MeasureRun, images: str, rows: Sequence[Row]) -> Group:
    """One image set: a figure for every group of classifiers with the same layers."""
    median = (
        "over images that are classified correctly, each the median of its targets; failures count as larger than "
        "anything found"
    )
    about = (
        ("search", words.how(rows[0])),
        ("median", median),
        ("layers", f"{chosen_layers(rows, words.which)}; the weights are left out"),
    )
    would_fall = (
        "If layers near the input were the more resilient to targeted attacks, as the paper concludes from noise, it "
        "would fall."
    )
    pairs = [pair for pair in run.summary["comparisons"] if pair["image_set"] == images]
    return Group(
        f"On {images}" if run.many_sets else "Targeted changes from input to output",
        (
            Table(("", ""), about, "pairs"),
            *map(changes_figure, with_same_layers(rows)),
            *(Sentence(f"{row['classifier']}: {said}. {would_fall}") for row in rows if (said := words.trend(row))),
            *map(_layers, rows),
            *([_which_needs_more(pairs)] if pairs else []),
        ),
    )


def _layers(row: Row) -> Group:
    table = Table(
        ("layer", "relative size", "greatest change", "over the layer’s rms", "target reached"),
        tuple(
            (
                layer_name(each),
                words.size(each, "relative"),
                Estimate(each["linf"]),
                words.size(each, "linf_relative"),
                Estimate(each["reached"], places=1, format="percent"),
            )
            for each in row["layers"]
        ),
    )
    note = f"{row['correct']} of {row['images']} images are classified correctly and averaged."
    return Group((ClassifierName(row["classifier"]),), (table, Sentence(note, "note")))


def _which_needs_more(pairs: Sequence[Row]) -> Group:
    note = (
        "Share of images on which the first needs the larger relative change, ties counted half; intervals hold for "
        f"all {pairs[0]['family']} comparisons at once."
    )
    table = Table(
        ("layer", "first", "second", "share", "needs more"),
        tuple(
            (
                layer_name(pair),
                pair["first"],
                pair["second"],
                words.size(pair, "larger", "interval"),
                Verdict(better(pair)),
            )
            for pair in pairs
        ),
    )
    return Group("Which classifier needs more, on the images that both get right", (Sentence(note, "note"), table))
