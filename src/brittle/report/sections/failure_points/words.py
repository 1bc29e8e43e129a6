"""Failure points in words: their numbers, their unit, and how they came about."""

from __future__ import annotations

from typing import NamedTuple

from brittle.report.blocks import wording
from brittle.report.blocks.text import Estimate
from brittle.report.blocks.wording import estimate, points
from brittle.report.page.section import Row
from brittle.report.page.words import counted
from brittle.report.sections import comparisons

UNITS = {
    "σ of 255": "σ of additive Gaussian noise, where white is 255",
    "level": "ImageNet-C’s level",
    "median level": "ImageNet-C’s level at the median draw; each path has its own, a fixed multiple of it",
    "scale": "the scale at which the images are stored",
    "severity": "severity: 1 is the draw from the prior, 2 is twice as far",
}


class CommonFailure(NamedTuple):
    """The label that most first failures above severity 0 fall into."""

    label: str
    share: float
    failures: int


def origin(row: Row) -> bool:
    """Whether there are images at severity 0."""
    return row["wrong_at_0"] is not None


def drops(row: Row) -> bool:
    """Whether accuracy at each severity can be set against accuracy at 0."""
    return origin(row) and row["only"] is None


def over(row: Row) -> str:
    """The images that failure points are averaged over."""
    return "over images right at 0" if origin(row) else "over all images, since none are stored at 0"


def common(row: Row, count: int) -> str:
    """The images that failure points of several classifiers are compared over."""
    return f"{count} images that both get right at 0" if origin(row) else f"all {count} images"


def places(row: Row) -> int:
    """Of 255 one decimal is enough; levels and severities need two."""
    return 1 if row["unit"] == "σ of 255" else 2


def mean(row: Row) -> Estimate:
    return estimate(row, "mean", places=places(row))


def difference(row: Row, pair: Row) -> Estimate:
    return comparisons.difference(pair, places=places(row))


def median(row: Row) -> Estimate:
    return wording.median(row, row["limit"], places(row))


def mean_drop(row: Row) -> Estimate:
    """Over the severities above 0."""
    found = [entry["drop"] for entry in row["severities"] if entry["value"] > 0]
    return points({"drop": None if not found or None in found else sum(found) / len(found)}, "drop")


def grid(row: Row) -> str:
    """0, 1, 2, 3, 4, 5; of a long list its ends."""
    values = [f"{entry['value']:g}" for entry in row["severities"]]
    return ", ".join(values if len(values) <= 9 else [*values[:3], "…", *values[-2:]])


def how(row: Row) -> str:
    """at 0, 1, 2, 3, 4 and 5; 1 path per image, θ drawn once for each"""
    ends = "; paths end at their first failure" if row["only"] == "first" else ""
    if row["unit"] == "scale":
        return f"at {grid(row)}, as they are stored{ends}{_incomplete(row)}"
    return f"at {grid(row)}; {counted(row['repeats'], 'path')} per image, θ drawn once for each{ends}"


def _incomplete(row: Row) -> str:
    count = row["incomplete"]
    left_out = f"; {counted(count, 'image')} not stored at every scale {'is' if count == 1 else 'are'} left out"
    return left_out if count else ""


def mean_is(row: Row) -> str:
    """What kind of mean it is."""
    return f"restricted mean, of min(failure point, {row['limit']:g})" if row["never"] else "mean"


def saved(row: Row) -> str:
    whole = row["calls"] + row["calls_saved"]
    return f"{row['calls_saved']:,} of {whole:,} calls saved ({100 * row['calls_saved'] / max(1, whole):.0f} %)"


def common_failure(row: Row) -> CommonFailure | None:
    """Where most images fall that fail above severity 0."""
    if not row["falls"]:
        return None
    most = row["falls"][0]
    return CommonFailure(most["label"], most["share"], round(most["paths"] / most["share"]))
