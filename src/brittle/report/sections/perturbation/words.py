"""Sizes of changes in words: as a percentage of the value range, and on the scale of 0 to 255."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brittle.imagenet import shown
from brittle.report.page.words import listed, percent

Row = Mapping[str, Any]
METHODS = {
    "adam": "Adam",
    "fgsm": "FGSM (no target)",
    "t-fgsm": "targeted FGSM",
    "i-fgsm": "I-FGSM",
}


def size(value: float | None, sign: str = "-") -> str:
    """13.7 %; – where there is none."""
    return "–" if value is None else f"{100 * value:{sign}.2f} %".replace("-", "−")


def level(value: float | None) -> str:
    """34.9, on the scale of 0 to 255."""
    return "–" if value is None else f"{255 * value:.1f}"


def bounds(interval: Sequence[float] | None, sign: str = "-") -> str:
    if interval is None:
        return ""
    low, high = (f"{100 * value:{sign}.2f}".replace("-", "−") for value in interval)
    return f"[{low}, {high}]"


def sized(value: float | None, interval: Sequence[float] | None, sign: str = "-") -> str:
    """13.7 % [12.1, 15.0]"""
    return f"{size(value, sign)} {bounds(interval, sign)}".strip()


def aims(row: Row) -> str:
    """Which classes images were changed to."""
    if not row["targets"]:
        return "no target: any other class"
    which = (
        "every other class"
        if row["targets"] == ["all"]
        else f"the classes {listed([shown(each) for each in row['targets']])}"
    )
    if row["drawn_targets"] is None:
        return f"targets: {which}"
    return f"targets: {row['drawn_targets']} per image, drawn from {which}"


def how(row: Row) -> str:
    """By which method, to what, and within which values."""
    with_what = METHODS[row["method"]]
    if row["method"] == "adam":
        with_what += f" with step {row['rate']:g} and at most {row['steps']:,} steps, the last one bisected"
    elif row["method"] == "i-fgsm":
        with_what += f" with {row['iterations']} steps, ε bisected"
    else:
        with_what += ", ε bisected"
    goal = "p(target)" if row["targets"] else "p(another class)"
    held = "values held to [0, 1]" if row["clip"] else "values not held to [0, 1]"
    return f"{with_what}, until {goal} ≥ {row['share']:g}; {held}; {aims(row)}"


def at(row: Row, of_255: int) -> Mapping[str, Any] | None:
    """Accuracy at ε = of_255 / 255."""
    found: Mapping[str, Any] | None = next(
        (each for each in row.get("accuracy", ()) if abs(255 * each["epsilon"] - of_255) < 1e-6), None
    )
    return found


def failures(row: Row) -> str:
    """12 of 900"""
    return f"{row['failures']:,} of {row['pairs']:,}"


def means(row: Row) -> str:
    """What a mean is of."""
    return (
        f"Means count a change as at most {percent(row['cap'])} of the value range and a failure as that much; "
        f"{percent(row['confidence'])} intervals for images like those that are right untouched"
    )
