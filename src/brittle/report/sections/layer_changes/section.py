"""The section of the measure `layer-changes`."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.blocks import Block, Group, Sentence, Weighted
from brittle.report.blocks.figure import Axis, Figure, Line, Mark, Points
from brittle.report.blocks.text import Estimate, Styled, Text
from brittle.report.blocks.wording import estimate
from brittle.report.page.section import MeasureRun, Row, Summary
from brittle.report.page.words import counted, percent
from brittle.report.sections import layered, register
from brittle.report.sections.base import finding, remarks
from brittle.report.sections.comparisons import verdict
from brittle.report.sections.grouped import by_set, of_set, on_set
from brittle.report.sections.layered import (
    LayeredSection,
    apart,
    called,
    compared_layers,
    each_layer,
    layer_axis,
    moves,
    printed_layers,
    printed_pairs,
    with_same_layers,
)
from brittle.report.sections.marks import chart, intervals
from brittle.report.sections.references import UREM
from brittle.report.sections.tables import Making, bare, bare_share, pairs, table, text, who

LEADS = 0.4  # how much findings matter
MOST_FINDINGS = 3
LIMITS = (
    "Sizes are upper bounds on the smallest change: Adam minimises cross-entropy, not the size.",
    "Nobody can change what a layer gives without changing the network: only the input is open to whoever hands in "
    "images. The other layers say where a change does most, and no attack on them is proposed.",
    "A change of the weights is for one image and one target: another network for each. It is no update that could be "
    "shipped, and says how near in weights a network lies that errs as wished on this image.",
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
        return [finding(_extremes(row), LEADS) for row in run.summary["results"][:MOST_FINDINGS]]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        first = run.summary["results"][0]
        unlabelled = " These images have no labels: each counts as correct." if first["reference"] != "label" else ""
        return [
            Sentence(
                "How far what a layer gives must be changed for a target to be predicted (UREM, figure 2): Adam adds "
                f"to it, until p(target) ≥ {first['share']:g}. The relative size is the root mean square of the change "
                "over that of what the layer gives of the image. Of layers changed at once each is measured by its own "
                "root mean square; the weights are changed for each image and target by themselves. Sizes are upper "
                f"bounds: Adam finds a change, not the smallest one.{unlabelled}"
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
        (_trend(row), _which(row)),
        ("rms", _sized("relative")),
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
    columns = ("", text("layer")), ("share of images", _sized("larger", "interval")), verdict("needs more")
    return Group((Styled(about, "soft"),), (table(compared, *columns, noun="layer"),))


def _closing(row: Row) -> str:
    return (
        f"{_how(row)}. Medians over images classified correctly, with {percent(row['confidence'])} intervals; "
        "failures count as larger than anything found. rms: root mean square of the change over that of what the layer "
        f"gives; sizes are upper bounds on the smallest change; seed {row['seed']}."
    )


def _part(run: MeasureRun, images: str, rows: Sequence[Row]) -> Group:
    """One image set: a figure for every group of classifiers with the same layers."""
    which = "; ".join(f"{row['classifier']}: {_which(row)}" for row in rows)
    left_out = "" if any(map(_with_weights, rows)) else "; the weights are left out"
    compared = of_set(run.summary["comparisons"], images)
    note = (
        "Share of images on which the first needs the larger relative change, ties counted half; intervals hold for "
        f"all {compared[0]['family'] if compared else 0} comparisons at once."
    )
    return Group(
        on_set(run, images, "Targeted changes from input to output"),
        (
            pairs(("search", _how(rows[0])), ("median", MEDIAN), ("layers", f"{which}{left_out}")),
            *map(_figure, with_same_layers(rows)),
            *(Sentence(f"{row['classifier']}: {said}. {WOULD_FALL}") for row in rows if (said := _trend(row))),
            *map(_layers, rows),
            *compared_layers(
                "Which classifier needs more, on the images that both get right",
                note,
                compared,
                ("share", _sized("larger", "interval")),
                verdict("needs more"),
            ),
        ),
    )


def _layers(row: Row) -> Group:
    return each_layer(
        row,
        ("relative size", _sized("relative")),
        ("greatest change", bare("linf")),
        ("over the layer’s rms", _sized("linf_relative")),
        ("target reached", bare_share("reached")),
    )


def _size(layer: Row, key: str, interval: str = "") -> Estimate:
    """0.18 [0.16, 0.19]; what lies among the failures is ∞."""
    among_failures = layer.get(interval or f"{key}_interval") is not None
    return estimate(layer, key, interval, places=2, missing="∞" if among_failures else "–")


def _sized(key: str, interval: str = "") -> Making:
    """The same as a column."""
    return lambda layer: _size(layer, key, interval)


def _how(row: Row) -> str:
    """Adam until p(target) ≥ 0.9, 1 target per image drawn by the seed, steps of 0.02 rms, failed after 300"""
    return (
        f"Adam until p(target) ≥ {row['share']:g}; {counted(row['targets'], 'target')} per image, drawn by the seed; "
        f"steps of {row['rate']:g} of the layer’s root mean square, failed after {row['steps']}; not clipped"
    )


def _trend(row: Row) -> str:
    found = row["depth_correlation"]
    if found is None:
        return ""
    return f"the relative size {moves(found['relative'])} from input to output"


def _which(row: Row) -> str:
    """all 10 layers; 11 of 59 layers, evenly spaced: the weights are not among them unless they are named"""
    return layered.which(row, row["last"] + _with_weights(row))


def _with_weights(row: Row) -> bool:
    """Whether the weights are changed, alone or with others."""
    return any(row["last"] in each.get("members", [each["number"]]) for each in row["layers"])


def _extremes(row: Row) -> Text:
    known = sorted((each for each in row["layers"] if each["relative"] is not None), key=lambda each: each["relative"])
    if not known:
        return f"No layer of {row['classifier']} could be changed so that targets are predicted on half of the images."
    least, most = known[0], known[-1]
    said = f"{called(least)} (", _size(least, "relative"), " of its rms)"
    if least is most:
        return "A targeted change of ", *said, f" makes {row['classifier']} predict a target."
    return (
        *(f"The smallest targeted changes of {row['classifier']} are those of ", *said),
        *(f", the largest those of {called(most)} (", _size(most, "relative"), ")."),
    )


def _figure(rows: Sequence[Row]) -> Figure:
    """Relative size against layer, one curve per classifier."""
    marks: list[Mark] = []
    for place, row in enumerate(rows):
        layers = zip(apart(rows, place), row["layers"], strict=True)
        known = [(x, each["relative"], each["relative_interval"]) for x, each in layers if each["relative"] is not None]
        at = tuple(x for x, _, _ in known)
        ends = ((low, middle if high is None else high) for _, middle, (low, high) in known)
        path = sum(layered.on_the_way(row, each) for each in row["layers"] if each["relative"] is not None)
        middles = tuple(middle for _, middle, _ in known)
        marks.append(Line(who(row), at[:path], middles[:path], weight="thin", markers=True))
        if path < len(at):
            marks.append(Points(who(row), at[path:], middles[path:]))
        marks.append(intervals(who(row), at, ends, weight="thick"))
    names = ", ".join(row["classifier"] for row in rows)
    return chart(
        f"size of targeted changes of each layer of {names}, relative to what it gives",
        marks,
        layer_axis(rows[0]["layers"]),
        Axis("change of the layer, relative to its rms", low=0, grid=True),
        f"Points are medians, bars {percent(rows[0]['confidence'])} intervals, each holding on its own.",
        height=3.8,
    )
