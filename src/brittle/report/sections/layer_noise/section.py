"""The section of the measure `layer-noise`."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.blocks import Block, Group, Sentence, Weighted
from brittle.report.blocks.text import Estimate, Styled, Text
from brittle.report.page.section import MeasureRun, Row, Summary
from brittle.report.page.words import percent
from brittle.report.sections import register
from brittle.report.sections.base import finding, remarks
from brittle.report.sections.comparisons import better, both, verdict
from brittle.report.sections.grouped import by_set, of_set, on_set
from brittle.report.sections.layer_noise import words
from brittle.report.sections.layer_noise.figures import depth_figure, layer_figure
from brittle.report.sections.layered import (
    LayeredSection,
    called,
    compared_layers,
    each_layer,
    printed_layers,
    printed_pairs,
    with_same_layers,
)
from brittle.report.sections.references import UREM, WAUDBY_SMITH_2023
from brittle.report.sections.tables import bare, bare_share, estimated, pairs, table, text

LEADS, DIFFERS = 0.4, 0.42  # how much findings matter
MOST_FINDINGS = 3
MOST_PAIRS = 12  # layers of which differences are printed
LIMITS = (
    "Noise on a layer is random: it says nothing of changes that are chosen to mislead. UREM’s conclusion that layers "
    "near the input are “more resilient to targeted attacks” is drawn from this random experiment.",
    "σ is relative to what a layer gives, number by number: zeros stay zeros, so a layer after a ReLU or with sparse "
    "activations takes less noise at the same σ, and a bias of the next layer none. σ* of different layers, and of "
    "networks with different layers, are not on one scale.",
    "Noise on a layer is not a fault that is likely to happen; it locates sensitivity, and does not estimate a failure "
    "rate.",
)


@register("layer-noise")
class LayerNoiseSection(LayeredSection):
    """How much noise each layer takes, and the weights."""

    title = "Noise on layers"

    def brief(self, summary: Summary) -> Sequence[Block]:
        return [
            *map(_printed, summary["results"]),
            *(_printed_pairs(*each) for each in printed_pairs(summary)),
            Sentence(_closing(summary["results"][0])),
        ]

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        said = [finding(_extremes(row), LEADS) for row in run.summary["results"] if _known(row)]
        for pair in run.summary["comparisons"]:
            if better(pair) is not None:
                size = abs(pair["difference"])
                said.append(finding(_takes_more(pair), DIFFERS * size / (1 + size)))
        return sorted(said, key=lambda each: -each.weight)[:MOST_FINDINGS]

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        first = run.summary["results"][0]
        unlabelled = " These images have no labels: each counts as correct." if first["reference"] != "label" else ""
        return [
            Sentence(
                "How much noise each layer takes before the prediction changes (UREM, figure 7): what the layer gives "
                "is multiplied, number by number, by noise N(1, σ²) with rising σ. σ* is where the prediction first "
                "leaves the clean prediction, P* the probability of the new label there. Averages are over images that "
                f"are classified correctly.{unlabelled} Layer 0 is the input; the last are the weights, all of them at "
                "once, where every draw of the noise makes one network for all images. On layers that are disturbed at "
                "once each number has noise of its own, of one σ."
            ),
            *(_part(run, images, rows) for images, rows in by_set(run.summary["results"]).items()),
            *remarks(
                "σ* is the standard deviation of multiplicative noise N(1, σ²) on a layer at which the prediction "
                "first changes, and P* the probability of the label that it changes to.",
                LIMITS,
                f"how noise is drawn ({first['noise']}), the step of σ ({first['step']:g}), its limit "
                f"({first['limit']:g})",
                (UREM, WAUDBY_SMITH_2023),
            ),
        ]


def _known(row: Row) -> list[Row]:
    return [each for each in row["layers"] if each["mean"] is not None]


def _extremes(row: Row) -> Text:
    by_mean = sorted(_known(row), key=lambda each: float(each["mean"]))
    least, most = by_mean[0], by_mean[-1]

    def told(each: Row) -> tuple[str | Estimate, ...]:
        return f"{called(each)} (mean σ* ", words.mean(each), ")"

    if least is most:
        return f"Noise changes {row['classifier']}’s predictions on ", *told(least), "."
    soonest = f"Noise changes {row['classifier']}’s predictions soonest on "
    return soonest, *told(least), " and latest on ", *told(most), "."


def _takes_more(pair: Row) -> Text:
    later, sooner = both(pair)
    return (
        f"{later} takes more noise on {called(pair)} than {sooner}: paired difference of σ* ",
        words.difference(pair),
        f", {percent(pair['confidence'])} interval for all {pair['family']} comparisons at once.",
    )


def _printed(row: Row) -> Group:
    several = any(each["common"] is not None for each in row["layers"])
    return printed_layers(
        row,
        "σ of noise N(1, σ²) on a layer at which predictions change",
        (words.trend(row), words.which(row)),
        ("mean σ*", words.mean),
        ("spread", bare("spread", 2)),
        ("median", lambda each: words.median(row, each)),
        ("unchanged", bare_share("unbroken")),
        ("P*", bare("p_star", 2)),
        *[("common", bare("common.mean", 2))] * several,
    )


def _printed_pairs(at_once: str, pairs: Sequence[Row]) -> Group:
    first = pairs[0]
    apart = [pair for pair in pairs if better(pair) is not None]
    shown = table(
        pairs if len(pairs) <= MOST_PAIRS else apart[:MOST_PAIRS],
        ("", text("layer")),
        ("difference of mean σ*", words.difference),
        verdict("changes later"),
    )
    about = (
        f"{first['first']} − {first['second']} on {first['image_set']}, paired over {first['images']} images that both "
        f"get right{at_once}"
    )
    return Group((Styled(about, "soft"),), (shown,))


def _closing(row: Row) -> str:
    fresh = " With noise=fresh σ* falls as the step shrinks: give the step with it."
    return (
        f"{words.how(row)}; {words.repeats(row)}. Means of min(σ*, {row['limit']:g}) over images classified correctly, "
        f"with {percent(row['confidence'])} intervals over images, and for the weights over noisy networks; unchanged: "
        "paths that held up to the limit; P*: mean probability of the new label; seed "
        f"{row['seed']}.{fresh if row['noise'] == 'fresh' else ''}"
    )


def _part(run: MeasureRun, images: str, rows: Sequence[Row]) -> Group:
    """One image set: a figure for every group of classifiers with the same layers."""
    first, alike, compared = rows[0], with_same_layers(rows), of_set(run.summary["comparisons"], images)
    shrinks = ". σ* falls as the step shrinks" if first["noise"] == "fresh" else ""
    mean = f"restricted mean, of min(σ*, {first['limit']:g}): paths that never changed count with the limit"
    note = (
        "Of mean σ*, image by image, and for the weights network by network; intervals hold for all "
        f"{compared[0]['family'] if compared else 0} comparisons at once. Layers are compared where both classifiers "
        "have the same ones; otherwise only the input and the weights are."
    )
    return Group(
        on_set(run, images, "Noise from input to output"),
        (
            pairs(
                ("noise", f"{words.how(first)}; {words.repeats(first)}{shrinks}"),
                ("mean", mean),
                ("layers", "; ".join(f"{row['classifier']}: {words.which(row)}" for row in rows)),
            ),
            *map(layer_figure, alike),
            *([depth_figure(rows)] if len(alike) > 1 else []),
            *(
                Sentence(f"{row['classifier']}: {said}. In the paper σ* falls and P* rises.")
                for row in rows
                if (said := words.trend(row))
            ),
            *map(_layers, rows),
            *compared_layers(
                "Differences, paired over the images that both get right",
                note,
                compared,
                ("first − second", words.difference),
                verdict("changes later"),
            ),
        ),
    )


def _layers(row: Row) -> Group:
    common = row["layers"][0]["common"] or {}
    return each_layer(
        row,
        ("mean σ*", words.mean),
        ("median", lambda each: words.median(row, each)),
        ("never changed", bare_share("unbroken")),
        ("spread", bare("spread", 2)),
        ("of repeats", bare("spread_of_repeats", 2)),
        ("P* of the new label", estimated("p_star", places=2)),
        *[(f"mean σ* over the {common.get('averaged')} images all get right", bare("common.mean", 2))] * bool(common),
    )
