"""Affinity and diversity by augmentation, as table 6 of Marcu & Prügel-Bennett 2022 lays them out."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, stdev
from typing import NamedTuple

from brittle.report.page.section import Row
from brittle.report.page.words import counted, number


class Value(NamedTuple):
    """A mean over runs, and their standard deviation where there are several."""

    mean: float | None
    spread: float | None
    runs: int

    @classmethod
    def of(cls, values: Sequence[float | None]) -> Value:
        known = [each for each in values if each is not None]
        return cls(mean(known) if known else None, stdev(known) if len(known) > 1 else None, len(known))

    def told(self, places: int = 2) -> str:
        """−12.58 ± 0.14; – where there is none."""
        spread = "" if self.spread is None else f" ± {number(self.spread, places)}"
        return f"{number(self.mean, places)}{spread}"


class Line(NamedTuple):
    """One augmentation, as one model sees it."""

    augmentation: str
    group: str
    images: str
    affinity: Value
    diversity: Value
    mix_diversity: Value


def lines(entry: Row) -> list[Line]:
    """Affinity over the runs of a model, beside the diversity over those that were trained with the augmentation."""
    found = []
    for row in entry["models"]:
        trained = [each for each in entry["diversities"] if each["augmentation"] == row["augmentation"]]
        diversity, mixed = (Value.of([each[key] for each in trained]) for key in ("diversity", "mix_diversity"))
        own = Value(row["affinity"], row["spread"], row["runs"])
        found.append(Line(row["augmentation"], row["group"], row["image_set"], own, diversity, mixed))
    return found


def clusters(row: Row) -> str:
    """400 images in 200 pairs × 2 draws"""
    pairs = "" if row["pairs"] is None else f" in {counted(row['pairs'], 'pair')}"
    return f"{counted(row['images'], 'image')}{pairs} × {counted(row['samples'], 'draw')}"
