"""Breaking points in words: their numbers, their unit, and how they came about."""

from __future__ import annotations

from brittle.report.blocks import wording
from brittle.report.blocks.text import Estimate
from brittle.report.blocks.wording import estimate
from brittle.report.page.section import Row
from brittle.report.page.words import counted
from brittle.report.sections import comparisons


def places(row: Row) -> int:
    """Of 255 one decimal is enough; severities need two."""
    return 1 if row["of_255"] else 2


def mean(row: Row) -> Estimate:
    return estimate(row, "mean", "interval", places=places(row))


def median(row: Row) -> Estimate:
    return wording.median(row, row["limit"], places(row))


def difference(row: Row, pair: Row) -> Estimate:
    return comparisons.difference(pair, places=places(row))


def unit(row: Row) -> str:
    return "σ of additive Gaussian noise, where white is 255" if row["of_255"] else str(row["unit"])


def how(row: Row) -> str:
    """path: θ is drawn once per path and scaled; steps of 1 up to 255; 1 path per image, clipped to valid values"""
    drawn = "θ is drawn once per path and scaled" if row["noise"] == "path" else "θ is drawn anew at each severity"
    clipped = {None: "", True: ", clipped to valid values", False: ", not clipped"}[row["clipped"]]
    paths = f"{counted(row['repeats'], 'path')} per image{clipped}"
    halved = ", found by halving" if row.get("search") == "bisect" else ""
    return f"{row['noise']}: {drawn}; steps of {row['step']:g} up to {row['limit']:g}{halved}; {paths}"


def mean_is(row: Row) -> str:
    """What kind of mean it is."""
    return f"restricted mean, of min(breaking point, {row['limit']:g})" if row["unbroken"] else "mean"
