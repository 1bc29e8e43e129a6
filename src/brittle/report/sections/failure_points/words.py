"""Failure points in words: their numbers, their unit, and how they came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from brittle.report.page.words import counted, number

Row = Mapping[str, Any]
UNITS = {
    "σ of 255": "σ of additive Gaussian noise, where white is 255",
    "level": "ImageNet-C’s level",
    "median level": "ImageNet-C’s level at the median draw; each path has its own, a fixed multiple of it",
    "scale": "the scale at which the images are stored",
    "severity": "severity: 1 is the draw from the prior, 2 is twice as far",
}


class Sink(NamedTuple):
    """The label that most first failures above severity 0 fall into."""

    label: str
    share: float
    failures: int


def origin(row: Row) -> bool:
    """Whether there are images at severity 0."""
    return row["wrong_at_0"] is not None


def over(row: Row) -> str:
    """The images that failure points are averaged over."""
    return "over images right at 0" if origin(row) else "over all images, since none are stored at 0"


def common(row: Row, count: int) -> str:
    """The images that failure points of several classifiers are compared over."""
    return f"{count} images that both get right at 0" if origin(row) else f"all {count} images"


def value(row: Row, given: float | None, sign: str = "-") -> str:
    """Of 255 one decimal is enough; levels and severities need two."""
    return number(given, 1 if row["unit"] == "σ of 255" else 2, sign)


def estimate(row: Row, mean: float | None, bounds: Sequence[float] | None, sign: str = "-") -> str:
    """2.50 [2.18, 2.81]"""
    ends = "" if bounds is None else f" [{value(row, bounds[0], sign)}, {value(row, bounds[1], sign)}]"
    return f"{value(row, mean, sign)}{ends}"


def median(row: Row) -> str:
    if row["mean"] is None:
        return "–"
    return f"> {row['limit']:g}" if row["median"] is None else value(row, row["median"])


def share(given: float | None, bounds: Sequence[float] | None = None) -> str:
    """22.5 % [15.5, 30.4]"""
    if given is None:
        return "–"
    ends = "" if bounds is None else f" [{100 * bounds[0]:.1f}, {100 * bounds[1]:.1f}]"
    return f"{100 * given:.1f} %{ends}"


def points(given: float | None, bounds: Sequence[float] | None = None, sign: str = "-") -> str:
    """A difference of shares, in percentage points."""
    if given is None:
        return "–"
    return f"{number(100 * given, 1, sign)} {'' if bounds is None else ends(bounds, sign)}".strip()


def ends(bounds: Sequence[float], sign: str = "-") -> str:
    """The interval of a difference of shares, in percentage points."""
    return f"[{number(100 * bounds[0], 1, sign)}, {number(100 * bounds[1], 1, sign)}]"


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
    return (
        f"; {counted(count, 'image')} not stored at every scale {'is' if count == 1 else 'are'} left out"
        if count
        else ""
    )


def mean_is(row: Row) -> str:
    """What kind of mean it is."""
    return f"restricted mean, of min(failure point, {row['limit']:g})" if row["never"] else "mean"


def saved(row: Row) -> str:
    whole = row["calls"] + row["calls_saved"]
    return f"{row['calls_saved']:,} of {whole:,} calls saved ({100 * row['calls_saved'] / max(1, whole):.0f} %)"


def sink(row: Row) -> Sink | None:
    """Where most images fall that fail above severity 0."""
    if not row["falls"]:
        return None
    most = row["falls"][0]
    return Sink(most["label"], most["share"], round(most["paths"] / most["share"]))
