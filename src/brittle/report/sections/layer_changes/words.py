"""Words for targeted changes of layers: sizes, and how they came about."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.report.page.words import counted, number
from brittle.report.sections import layered
from brittle.report.sections.layered import Row, moves


def size(value: float | None, bounds: Sequence[float | None] | None = None) -> str:
    """0.18 [0.16, 0.19]; what lies among the failures is ∞."""
    if bounds is None:
        return number(value, 2)
    middle, low, high = ("∞" if each is None else number(each, 2) for each in (value, *bounds))
    return f"{middle} [{low}, {high}]"


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


def extremes(row: Row) -> str:
    known = sorted((each for each in row["layers"] if each["relative"] is not None), key=lambda each: each["relative"])
    if not known:
        return f"No layer of {row['classifier']} could be changed so that targets are predicted on half of the images."
    least, most = known[0], known[-1]
    said = f"the layer {least['layer']} ({size(least['relative'], least['relative_interval'])} of its rms)"
    if least is most:
        return f"A targeted change of {said} makes {row['classifier']} predict a target."
    return (
        f"The smallest targeted changes of {row['classifier']} are those of {said}, the largest those of the layer "
        f"{most['layer']} ({size(most['relative'], most['relative_interval'])})."
    )
