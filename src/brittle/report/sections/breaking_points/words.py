"""Breaking points in words: their numbers, their unit, and how they came about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brittle.report.blocks import Estimate
from brittle.report.blocks.wording import estimate, exceeded

Row = Mapping[str, Any]


def places(row: Row) -> int:
    """Of 255 one decimal is enough; severities need two."""
    return 1 if row["of_255"] else 2


def mean(row: Row, over: Row | None = None) -> Estimate:
    """Over a classifier's own correct images, or over those that all get right."""
    return estimate(over or row, "mean", "interval", places=places(row))


def median(row: Row) -> Estimate:
    if row["mean"] is None:
        return Estimate(None)
    return exceeded(row["limit"]) if row["median"] is None else Estimate(row["median"], places=places(row))


def difference(row: Row, pair: Row) -> Estimate:
    return estimate(pair, "difference", "interval", places=places(row), signed=True, simultaneous=pair["family"])


def unit(row: Row) -> str:
    return "σ of additive Gaussian noise, where white is 255" if row["of_255"] else str(row["unit"])


def how(row: Row) -> str:
    """path: θ is drawn once per path and scaled; steps of 1 up to 255; 1 path per image, clipped to valid values"""
    drawn = "θ is drawn once per path and scaled" if row["noise"] == "path" else "θ is drawn anew at each severity"
    clipped = {None: "", True: ", clipped to valid values", False: ", not clipped"}[row["clipped"]]
    paths = f"{row['repeats']} path{'s' * (row['repeats'] != 1)} per image"
    return f"{row['noise']}: {drawn}; steps of {row['step']:g} up to {row['limit']:g}; {paths}{clipped}"


def mean_is(row: Row) -> str:
    """What kind of mean it is."""
    return f"restricted mean, of min(breaking point, {row['limit']:g})" if row["unbroken"] else "mean"
