"""Affinity and diversity by augmentation, as table 6 of Marcu & Prügel-Bennett 2022 lays them out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import mean, stdev
from typing import NamedTuple

from brittle.report.blocks.figure import Axis, Figure, Intervals, Mark, Points, Series
from brittle.report.page.section import Row
from brittle.report.page.words import counted, number
from brittle.report.sections.marks import chart

MOST = 24


class MeanOverRuns(NamedTuple):
    """A mean over runs, and their standard deviation where there are several."""

    mean: float | None
    spread: float | None
    runs: int

    @classmethod
    def of(cls, values: Sequence[float | None]) -> MeanOverRuns:
        known = [each for each in values if each is not None]
        return cls(mean(known) if known else None, stdev(known) if len(known) > 1 else None, len(known))

    def text(self, places: int = 2) -> str:
        """−12.58 ± 0.14; – where there is none."""
        spread = "" if self.spread is None else f" ± {number(self.spread, places)}"
        return f"{number(self.mean, places)}{spread}"


class AugmentationOfModel(NamedTuple):
    """One augmentation, as one model sees it."""

    augmentation: str
    group: str
    images: str
    affinity: MeanOverRuns
    diversity: MeanOverRuns
    mix_diversity: MeanOverRuns


def lines(entry: Row) -> list[AugmentationOfModel]:
    """Affinity over the runs of a model, beside the diversity over those that were trained with the augmentation."""
    found = []
    for row in entry["models"]:
        trained = [each for each in entry["diversities"] if each["augmentation"] == row["augmentation"]]
        diversity, mixed = (MeanOverRuns.of([each[key] for each in trained]) for key in ("diversity", "mix_diversity"))
        own = MeanOverRuns(row["affinity"], row["spread"], row["runs"])
        found.append(AugmentationOfModel(row["augmentation"], row["group"], row["image_set"], own, diversity, mixed))
    return found


def clusters(row: Row) -> str:
    """400 images in 200 pairs × 2 draws"""
    pairs = "" if row["pairs"] is None else f" in {counted(row['pairs'], 'pair')}"
    return f"{counted(row['images'], 'image')}{pairs} × {counted(row['samples'], 'draw')}"


def scatter(lines: Sequence[AugmentationOfModel]) -> Figure:
    """A point per augmentation and model; bars are standard deviations over runs."""
    shown = lines[:MOST]
    groups = list(dict.fromkeys(each.group for each in shown))
    return chart(
        "affinity against diversity: "
        + "; ".join(f"{each.augmentation} {each.affinity.text()} and {each.diversity.text()}" for each in shown),
        tuple(mark for each in shown for mark in _marks(each, Series(groups.index(each.group), each.group))),
        Axis("affinity, in points of accuracy", grid=True),
        Axis("diversity: final training loss\nwith the majority’s label", grid=True),
        "A mark per augmentation and model; bars are standard deviations over runs. Further left, a model trained "
        "without the augmentation loses more accuracy to it; further up, it is harder to train on.",
        height=3.8,
    )


def _marks(each: AugmentationOfModel, who: Series) -> Iterator[Mark]:
    x, y = each.affinity.mean, each.diversity.mean
    assert x is not None
    assert y is not None
    right, up = each.affinity.spread or 0.0, each.diversity.spread or 0.0
    yield Intervals(who, (y,), (x - right,), (x + right,), "x", "thin")
    yield Intervals(who, (x,), (y - up,), (y + up,), weight="thin")
    yield Points(who, (x,), (y,), texts=(each.augmentation,))
