"""Words for targeted changes of layers: sizes, and how they came about."""

from __future__ import annotations

from brittle.report.blocks import Estimate, Text
from brittle.report.blocks.wording import estimate
from brittle.report.page.section import Row
from brittle.report.page.words import counted
from brittle.report.sections import layered
from brittle.report.sections.layered import moves
from brittle.report.sections.tables import Making


def size(layer: Row, key: str, interval: str = "") -> Estimate:
    """0.18 [0.16, 0.19]; what lies among the failures is ∞."""
    among_failures = layer.get(interval or f"{key}_interval") is not None
    return estimate(layer, key, interval, places=2, missing="∞" if among_failures else "–")


def sized(key: str, interval: str = "") -> Making:
    """The same as a column."""
    return lambda layer: size(layer, key, interval)


def how(row: Row) -> str:
    """Adam until p(target) ≥ 0.9, 1 target per image drawn by the seed, steps of 0.02 rms, failed after 300"""
    return (
        f"Adam until p(target) ≥ {row['share']:g}; {counted(row['targets'], 'target')} per image, drawn by the seed; "
        f"steps of {row['rate']:g} of the layer’s root mean square, failed after {row['steps']}; not clipped"
    )


def trend(row: Row) -> str:
    found = row["depth_correlation"]
    if found is None:
        return ""
    return f"the relative size {moves(found['relative'])} from input to output"


def which(row: Row) -> str:
    """all 10 layers; 11 of 59 layers, evenly spaced: the weights are not among them"""
    return layered.which(row, row["last"])


def extremes(row: Row) -> Text:
    known = sorted((each for each in row["layers"] if each["relative"] is not None), key=lambda each: each["relative"])
    if not known:
        return f"No layer of {row['classifier']} could be changed so that targets are predicted on half of the images."
    least, most = known[0], known[-1]
    said = f"the layer {least['layer']} (", size(least, "relative"), " of its rms)"
    if least is most:
        return "A targeted change of ", *said, f" makes {row['classifier']} predict a target."
    return (
        *(f"The smallest targeted changes of {row['classifier']} are those of ", *said),
        *(f", the largest those of the layer {most['layer']} (", size(most, "relative"), ")."),
    )
