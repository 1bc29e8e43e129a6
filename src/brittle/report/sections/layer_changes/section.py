"""The section of the measure `layer-changes`."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.blocks import Block, Group, Sentence, Styled, Weighted
from brittle.report.page.section import MeasureRun, Row, Summary
from brittle.report.page.words import percent
from brittle.report.sections import register
from brittle.report.sections.base import finding, remarks
from brittle.report.sections.comparisons import verdict
from brittle.report.sections.grouped import by_set, of_set, on_set
from brittle.report.sections.layer_changes import words
from brittle.report.sections.layer_changes.figures import changes_figure
from brittle.report.sections.layered import (
    LayeredSection,
    compared_layers,
    each_layer,
    printed_layers,
    printed_pairs,
    with_same_layers,
)
from brittle.report.sections.references import UREM
from brittle.report.sections.tables import bare, bare_share, pairs, table, text

LEADS = 0.4  # how much findings matter
MOST_FINDINGS = 3
LIMITS = (
    "Sizes are upper bounds on the smallest change: Adam minimises cross-entropy, not the size.",
    "Nobody can change what a layer gives without changing the network: only the input is open to whoever hands in "
    "images. The other layers say where a change does most, and no attack on them is proposed.",
    "A size relative to a layer’s root mean square compares layers by one yardstick among several: numbers that are "
    "almost always near zero, as after a ReLU, make a layer’s root mean square small beside its greatest values.",
)
MEDIAN = (
    "over images that are classified correctly, each the median of its targets; failures count as larger than anything "
    "found"
)
WOULD_FALL = (
    "If layers near the input were the more resilient to targeted attacks, as the paper concludes from noise, it would "
    "fall."
)


@register("layer-changes")
class LayerChangesSection(LayeredSection):
    """How far what each layer gives must be changed for a target to be predicted."""

    title = "Targeted changes of layers"

    def brief(self, summary: Summary) -> Sequence[Block]:
        return [
            *map(_printed, summary["results"]),
            *(_printed_pairs(*each) for each in printed_pairs(summary)),
            Sentence(_closing(summary["results"][0])),
        ]

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        return [finding(words.extremes(row), LEADS) for row in run.summary["results"][:MOST_FINDINGS]]

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
            *(_part(run, images, rows) for images, rows in by_set(run.summary["results"]).items()),
            *remarks(
                "rms is the root mean square of what a layer gives of an image.",
                LIMITS,
                f"the probability to reach ({first['share']:g}), Adam’s step ({first['rate']:g}) and steps "
                f"({first['steps']})",
                (UREM,),
            ),
        ]


def _printed(row: Row) -> Group:
    return printed_layers(
        row,
        "change of what a layer gives at which a target is predicted",
        (words.trend(row), words.which(row)),
        ("rms", words.sized("relative")),
        ("max", bare("linf")),
        ("max / rms", bare("linf_relative", 2)),
        ("reached", bare_share("reached")),
    )


def _printed_pairs(at_once: str, compared: Sequence[Row]) -> Group:
    first = compared[0]
    about = (
        f"share of the {first['images']} images of {first['image_set']} that both get right on which {first['first']} "
        f"needs a larger relative change than {first['second']}{at_once}"
    )
    columns = ("", text("layer")), ("share of images", words.sized("larger", "interval")), verdict("needs more")
    return Group((Styled(about, "soft"),), (table(compared, *columns, noun="layer"),))


def _closing(row: Row) -> str:
    return (
        f"{words.how(row)}. Medians over images classified correctly, with {percent(row['confidence'])} intervals; "
        "failures count as larger than anything found. rms: root mean square of the change over that of what the layer "
        f"gives; sizes are upper bounds on the smallest change; seed {row['seed']}."
    )


def _part(run: MeasureRun, images: str, rows: Sequence[Row]) -> Group:
    """One image set: a figure for every group of classifiers with the same layers."""
    which = "; ".join(f"{row['classifier']}: {words.which(row)}" for row in rows)
    compared = of_set(run.summary["comparisons"], images)
    note = (
        "Share of images on which the first needs the larger relative change, ties counted half; intervals hold for "
        f"all {compared[0]['family'] if compared else 0} comparisons at once."
    )
    return Group(
        on_set(run, images, "Targeted changes from input to output"),
        (
            pairs(("search", words.how(rows[0])), ("median", MEDIAN), ("layers", f"{which}; the weights are left out")),
            *map(changes_figure, with_same_layers(rows)),
            *(Sentence(f"{row['classifier']}: {said}. {WOULD_FALL}") for row in rows if (said := words.trend(row))),
            *map(_layers, rows),
            *compared_layers(
                "Which classifier needs more, on the images that both get right",
                note,
                compared,
                ("share", words.sized("larger", "interval")),
                verdict("needs more"),
            ),
        ),
    )


def _layers(row: Row) -> Group:
    return each_layer(
        row,
        ("relative size", words.sized("relative")),
        ("greatest change", bare("linf")),
        ("over the layer’s rms", words.sized("linf_relative")),
        ("target reached", bare_share("reached")),
    )
