"""Paired differences, after − before, as the summary has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from pydantic import Field, TypeAdapter

from brittle.report.blocks import Estimate
from brittle.report.blocks.wording import bounded
from brittle.report.page.section import MeasureRun

QUANTITIES = {"rho": "ρ", "accuracy_nuisance": "accuracy under the nuisance", "accuracy_clean": "clean accuracy"}

Bounds = tuple[float, float] | None


class Change(NamedTuple):
    """after − before of one quantity, paired."""

    value: float
    bounds: Bounds

    @property
    def side(self) -> int:
        """On which side of zero the interval lies: 1, −1, or 0 where it holds zero."""
        return 0 if self.bounds is None else (self.bounds[0] > 0) - (self.bounds[1] < 0)

    @property
    def estimate(self) -> Estimate:
        """+0.102 [+0.087, +0.118]"""
        return bounded(self.value, self.bounds, signed=True)


@dataclass(frozen=True, kw_only=True)
class Changes:
    rho: float
    rho_interval: Bounds
    accuracy_nuisance: float
    accuracy_nuisance_interval: Bounds
    accuracy_clean: float
    accuracy_clean_interval: Bounds

    def of(self, quantity: str) -> Change:
        return Change(getattr(self, quantity), getattr(self, f"{quantity}_interval"))


@dataclass(frozen=True, kw_only=True)
class ClassChanges(Changes):
    """Of one class, simultaneous over classes."""

    name: Annotated[str, Field(alias="class")]
    images: int


@dataclass(frozen=True, kw_only=True)
class Difference(Changes):
    """Two classifiers on one image set under one nuisance."""

    before: str
    after: str
    image_set: str
    nuisance: str
    confidence: float
    classes: list[ClassChanges]

    @property
    def images(self) -> int:
        return sum(each.images for each in self.classes)

    @property
    def least_first(self) -> list[ClassChanges]:
        """Classes by their gain in ρ."""
        return sorted(self.classes, key=lambda each: each.rho)


def differences_of(summary: Mapping[str, Any]) -> list[Difference]:
    return TypeAdapter(list[Difference]).validate_python(summary["differences"])


class Level(NamedTuple):
    """One quantity of one classifier, with its interval."""

    value: float | None
    bounds: Bounds


Levels = Mapping[str, Mapping[str, Level]]  # classifier → quantity


def levels(run: MeasureRun, difference: Difference) -> Levels:
    """Before and after themselves, where the study has summed up the measure that the differences come from."""
    assigned, entries = run.whole.job.assignments.get(run.name), run.whole.summary["measures"]
    read = entries if assigned is None else assigned.reads.values()
    rows = [row for name in read for row in entries.get(name, {}).get("results", ()) if "rho" in row]
    found = {
        row["classifier"]: {quantity: _level(row, quantity) for quantity in QUANTITIES}
        for row in rows
        if (row["image_set"], row["nuisance"]) == (difference.image_set, difference.nuisance)
    }
    both = (difference.before, difference.after)
    return {name: found[name] for name in both} if all(name in found for name in both) else {}


def _level(row: Mapping[str, Any], quantity: str) -> Level:
    return Level(row[quantity], row["interval" if quantity == "rho" else f"{quantity}_interval"])
