"""Sizes of changes in words: as a percentage of the value range, and on the scale of 0 to 255."""

from __future__ import annotations

from brittle.imagenet import shown
from brittle.report.blocks.text import Count, Estimate
from brittle.report.blocks.wording import share
from brittle.report.page.section import Row
from brittle.report.page.words import listed, percent
from brittle.report.sections import comparisons

METHODS = {
    "adam": "Adam",
    "fgsm": "FGSM (no target)",
    "t-fgsm": "targeted FGSM",
    "i-fgsm": "I-FGSM",
}


def size(row: Row, key: str, interval: str = "") -> Estimate:
    """13.70 % [12.10, 15.00], of the value range."""
    return share(row, key, interval, places=2)


def level(value: float | None) -> Estimate:
    """34.9, on the scale of 0 to 255."""
    return Estimate(None if value is None else 255 * value, places=1)


def difference(pair: Row, what: str) -> Estimate:
    """Of the mean over targets, or of the smallest."""
    return comparisons.difference(pair, f"{what}_difference", f"{what}_interval", places=2, format="percent")


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


def at(row: Row, of_255: int) -> Row | None:
    """Accuracy at ε = of_255 / 255."""
    found: Row | None = next(
        (each for each in row.get("accuracy", ()) if abs(255 * each["epsilon"] - of_255) < 1e-6), None
    )
    return found


def failures(row: Row) -> Count:
    return Count(row["failures"], row["pairs"])


def means(row: Row) -> str:
    """What a mean is of."""
    return (
        f"Means count a change as at most {percent(row['cap'])} of the value range and a failure as that much; "
        f"{percent(row['confidence'])} intervals for images like those that are right untouched"
    )
