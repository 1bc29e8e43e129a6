"""Paired differences, after − before, as the summary has them, in numbers and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from brittle.report.blocks.text import Estimate
from brittle.report.blocks.wording import estimate, plain
from brittle.report.page.section import MeasureRun, Row
from brittle.report.page.words import listed, number
from brittle.report.sections.grouped import of_set

QUANTITIES = {"rho": "ρ", "accuracy_nuisance": "accuracy under the nuisance", "accuracy_clean": "clean accuracy"}
Levels = Mapping[str, Row]  # classifier → what is said of it


def change(row: Row, quantity: str) -> Estimate:
    """+0.102 [+0.087, +0.118], over all or of a class."""
    return estimate(row, quantity, signed=True)


def side(row: Row, quantity: str) -> int:
    """On which side of zero the interval lies: 1, −1, or 0 where it holds zero."""
    low, high = row[f"{quantity}_interval"] or (0.0, 0.0)
    return (low > 0) - (high < 0)


def images_of(difference: Row) -> int:
    return sum(each["images"] for each in difference["classes"])


def least_first(difference: Row) -> list[Row]:
    """Classes by their gain in ρ."""
    return sorted(difference["classes"], key=lambda each: each["rho"])


def levels(run: MeasureRun, difference: Row) -> Levels:
    """Before and after themselves, where the study has summed up the measure that the differences come from."""
    assigned, entries = run.whole.job.assignments.get(run.name), run.whole.summary["measures"]
    read = entries if assigned is None else assigned.reads.values()
    rows = [row for name in read for row in entries.get(name, {}).get("results", ()) if "rho" in row]
    found = {row["classifier"]: row for row in of_set(rows, difference["image_set"], difference["nuisance"])}
    both = (difference["before"], difference["after"])
    return {name: found[name] for name in both} if all(name in found for name in both) else {}


def moved(difference: Row, known: Levels, quantity: str) -> str:
    """rose from 0.683 to 0.739 (+0.055 [+0.026, +0.083], paired)"""
    by, where = plain((change(difference, quantity),)), side(difference, quantity)
    verb = {1: "rose", -1: "fell", 0: "went" if known else "moved"}[where]
    unclear = "" if where else ", which these images can't tell from no change"
    if not known:
        return f"{verb} by {by}, paired{unclear}"
    before, after = (number(known[difference[end]][quantity]) for end in ("before", "after"))
    return f"{verb} from {before} to {after} ({by}, paired){unclear}"


def losses(classes: Sequence[Row]) -> str:
    """For which classes the interval lies below zero, and above it for ρ."""
    gained = sum(side(each, "rho") > 0 for each in classes)
    said = f"The interval of ρ lies above 0 for {gained or 'none'} of {len(classes)} class{'es' * (len(classes) > 1)}. "
    lost = {name: [each["class"] for each in classes if side(each, key) < 0] for key, name in QUANTITIES.items()}
    told = [f"{name}: {listed(names, 3)}" for name, names in lost.items() if names]
    if told:
        return f"{said}These classes lost, their interval lying below 0, in {'; in '.join(told)}."
    return (
        f"{said}No interval of ρ, accuracy or clean accuracy lies below 0: no class is shown to have lost. Where "
        "intervals are wide, a loss may still hide in them."
    )
