"""The section of the measure `layer-noise`."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from brittle.report.blocks import (
    Block,
    ClassifierName,
    Estimate,
    Group,
    Sentence,
    Styled,
    Table,
    Text,
    Verdict,
    Weighted,
)
from brittle.report.blocks.wording import estimate
from brittle.report.page.section import MeasureRun, Summary
from brittle.report.page.words import percent
from brittle.report.sections import register
from brittle.report.sections.base import BaseSection
from brittle.report.sections.comparisons import better
from brittle.report.sections.layer_noise import words
from brittle.report.sections.layer_noise.figures import depth_figure, layer_figure
from brittle.report.sections.layered import (
    Row,
    by_images,
    chosen_layers,
    compared_pairs,
    layer_name,
    layer_table,
    with_same_layers,
)
from brittle.report.sections.references import UREM, WAUDBY_SMITH_2023

LEADS, DIFFERS = 0.4, 0.42  # how much findings matter
MOST_FINDINGS = 3
MOST_PAIRS = 12  # layers of which differences are printed
LIMITS = (
    "Noise on a layer is random: it says nothing of changes that are chosen to mislead. UREM’s conclusion that layers "
    "near the input are “more resilient to targeted attacks” is drawn from this random experiment.",
    "σ is relative to what a layer gives, number by number: zeros stay zeros, so a layer after a ReLU or with sparse "
    "activations takes less noise at the same σ, and a bias of the next layer none. σ* of different layers, and of "
    "networks with different layers, are not on one scale.",
    "Noise on a layer is no fault that is likely to happen; it locates sensitivity, and is no estimate of a failure "
    "rate.",
)


@register("layer-noise")
class LayerNoiseSection(BaseSection):
    """How much noise each layer takes, and the weights."""

    title = "Noise on layers"

    def brief(self, summary: Summary) -> Sequence[Block]:
        return [
            *map(_printed, summary["results"]),
            *map(_printed_pairs, compared_pairs(summary)),
            Sentence(_closing(summary["results"][0])),
        ]

    def table(self, summary: Summary) -> pa.Table:
        return layer_table(summary)

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        said = [Weighted(Sentence(_extremes(row), "finding"), LEADS) for row in run.summary["results"] if _known(row)]
        for pair in run.summary["comparisons"]:
            if better(pair) is not None:
                size = abs(pair["difference"])
                said.append(Weighted(Sentence(_takes_more(pair), "finding"), DIFFERS * size / (1 + size)))
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
                "once, where every draw of the noise makes one network for all images."
            ),
            *(_part(run, images, rows) for images, rows in by_images(run.summary)),
            Sentence(
                "σ* is the standard deviation of multiplicative noise N(1, σ²) on a layer at which the prediction "
                "first changes, and P* the probability of the label that it changes to.",
                "definition",
            ),
            *(Sentence(text, "limit") for text in LIMITS),
            Sentence(
                f"how noise is drawn ({first['noise']}), the step of σ ({first['step']:g}), its limit "
                f"({first['limit']:g})",
                "citation",
            ),
            *(Sentence(text, "reference") for text in (UREM, WAUDBY_SMITH_2023)),
        ]


def _known(row: Row) -> list[Row]:
    return [each for each in row["layers"] if each["mean"] is not None]


def _extremes(row: Row) -> Text:
    by_mean = sorted(_known(row), key=lambda each: float(each["mean"]))
    least, most = by_mean[0], by_mean[-1]

    def told(each: Row) -> tuple[str | Estimate, ...]:
        where = "the weights" if words.is_weights(row, each) else f"the layer {each['layer']}"
        return f"{where} (mean σ* ", words.mean(each), ")"

    if least is most:
        return f"Noise changes {row['classifier']}’s predictions on ", *told(least), "."
    soonest = f"Noise changes {row['classifier']}’s predictions soonest on "
    return soonest, *told(least), " and latest on ", *told(most), "."


def _takes_more(pair: Row) -> Text:
    later = better(pair)
    sooner = pair["second"] if later == pair["first"] else pair["first"]
    return (
        f"{later} takes more noise on the layer {pair['layer']} than {sooner}: paired difference of σ* ",
        words.difference(pair),
        f", {percent(pair['confidence'])} interval for all {pair['family']} comparisons at once.",
    )


def _printed(row: Row) -> Group:
    several = any(each["common"] is not None for each in row["layers"])
    table = Table(
        ("layer", "mean σ*", "spread", "median", "unchanged", "P*", *["common"] * several),
        tuple(
            (
                layer_name(each),
                words.mean(each),
                Estimate(each["spread"], places=2),
                words.median(row, each),
                Estimate(each["unbroken"], places=1, format="percent"),
                Estimate(each["p_star"], places=2),
                *([Estimate(each["common"]["mean"], places=2)] if several else ()),
            )
            for each in row["layers"]
        ),
        noun="layer",
    )
    about = (
        f" on {row['image_set']}, {row['correct']} of {row['images']} images correct: σ of noise N(1, σ²) on a layer "
        "at which predictions change"
    )
    said = map(Sentence, filter(None, (words.trend(row), words.which(row))))
    return Group((Styled(row["classifier"]), about), (table, *said))


def _printed_pairs(pairs: Sequence[Row]) -> Group:
    first = pairs[0]
    apart = [pair for pair in pairs if better(pair) is not None]
    together = f", simultaneous over {first['family']} comparisons" if first["family"] > 1 else ""
    table = Table(
        ("", "difference of mean σ*", "changes later"),
        tuple(
            (pair["layer"], words.difference(pair), Verdict(better(pair)))
            for pair in (pairs if len(pairs) <= MOST_PAIRS else apart[:MOST_PAIRS])
        ),
    )
    about = (
        f"{first['first']} − {first['second']} on {first['image_set']}, paired over {first['images']} images that both "
        f"get right{together}"
    )
    return Group((Styled(about, "soft"),), (table,))


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
    first, alike = rows[0], with_same_layers(rows)
    shrinks = ". σ* falls as the step shrinks" if first["noise"] == "fresh" else ""
    mean = f"restricted mean, of min(σ*, {first['limit']:g}): paths that never changed count with the limit"
    about = (
        ("noise", f"{words.how(first)}; {words.repeats(first)}{shrinks}"),
        ("mean", mean),
        ("layers", chosen_layers(rows, words.which)),
    )
    pairs = [pair for pair in run.summary["comparisons"] if pair["image_set"] == images]
    return Group(
        f"On {images}" if run.many_sets else "Noise from input to output",
        (
            Table(("", ""), about, "pairs"),
            *map(layer_figure, alike),
            *([depth_figure(rows)] if len(alike) > 1 else []),
            *(
                Sentence(f"{row['classifier']}: {said}. In the paper σ* falls and P* rises.")
                for row in rows
                if (said := words.trend(row))
            ),
            *map(_layers, rows),
            *([_differences(pairs)] if pairs else []),
        ),
    )


def _layers(row: Row) -> Group:
    common = row["layers"][0]["common"]
    table = Table(
        (
            *("layer", "mean σ*", "median", "never changed", "spread", "of repeats", "P* of the new label"),
            *([f"mean σ* over the {common['averaged']} images all get right"] if common else []),
        ),
        tuple(
            (
                layer_name(each),
                words.mean(each),
                words.median(row, each),
                Estimate(each["unbroken"], places=1, format="percent"),
                Estimate(each["spread"], places=2),
                Estimate(each["spread_of_repeats"], places=2),
                estimate(each, "p_star", places=2),
                *([Estimate((each["common"] or {}).get("mean"), places=2)] if common else []),
            )
            for each in row["layers"]
        ),
    )
    note = f"{row['correct']} of {row['images']} images are classified correctly and averaged."
    return Group((ClassifierName(row["classifier"]),), (table, Sentence(note, "note")))


def _differences(pairs: Sequence[Row]) -> Group:
    note = (
        "Of mean σ*, image by image, and for the weights network by network; intervals hold for all "
        f"{pairs[0]['family']} comparisons at once. Layers are compared where both classifiers have the same ones; "
        "otherwise only the input and the weights are."
    )
    table = Table(
        ("layer", "first", "second", "first − second", "changes later"),
        tuple(
            (layer_name(pair), pair["first"], pair["second"], words.difference(pair), Verdict(better(pair)))
            for pair in pairs
        ),
    )
    return Group("Differences, paired over the images that both get right", (Sentence(note, "note"), table))
