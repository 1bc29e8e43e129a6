"""Breaking points in words: their numbers, their unit, and how they came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brittle.report.page.words import number

Row = Mapping[str, Any]


def value(row: Row, given: float | None, sign: str = "-") -> str:
    """Of 255 one decimal is enough; severities need two."""
    return number(given, 1 if row["of_255"] else 2, sign)


def estimate(row: Row, mean: float | None, bounds: Sequence[float] | None, sign: str = "-") -> str:
    """73.5 [61.6, 88.6]"""
    ends = "" if bounds is None else f" [{value(row, bounds[0], sign)}, {value(row, bounds[1], sign)}]"
    return f"{value(row, mean, sign)}{ends}"


def share(given: float | None) -> str:
    return "–" if given is None else f"{100 * given:.1f} %"


def unit(row: Row) -> str:
    return "σ of additive Gaussian noise, where white is 255" if row["of_255"] else str(row["unit"])


def how(row: Row) -> str:
    """noise drawn once per path, steps of 1 up to 255, 1 path per image, clipped to [0, 1]"""
    drawn = "θ is drawn once per path and scaled" if row["noise"] == "path" else "θ is drawn anew at each severity"
    clipped = {None: "", True: ", clipped to valid values", False: ", not clipped"}[row["clipped"]]
    paths = f"{row['repeats']} path{'s' * (row['repeats'] != 1)} per image"
    return f"{row['noise']}: {drawn}; steps of {row['step']:g} up to {row['limit']:g}; {paths}{clipped}"


def mean_is(row: Row) -> str:
    """What kind of mean it is."""
    return f"restricted mean, of min(breaking point, {row['limit']:g})" if row["unbroken"] else "mean"
