"""The plan of a generation: a unit is the image of a class and seed at scale 0, or the same under one shift at all of
its scales.

A unit's place on the axis is a number that its class, label, seed and shift have whatever else is generated, so that a
run is extended by more of any of them and what there is stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from brittle.measures.plan import Plan, Unit
from brittle.random import key_of

MOST = (1 << 60) - 1


class ImagePath(NamedTuple):
    """One seed of a class under a shift; "" for scale 0."""

    name: str
    label: int
    seed: int
    shift: str


@dataclass(frozen=True)
class PathPlan(Plan):
    """Class by class, seed by seed: first scale 0, then shift by shift. Images of a seed begin alike, and are made one
    after the other."""

    classes: tuple[str, ...]
    labels: tuple[int, ...]
    shifts: tuple[str, ...]
    seeds: range
    scales: int
    columns = None  # rows are told apart by their units

    def __len__(self) -> int:
        return len(self.classes) * len(self.seeds) * (1 + len(self.shifts))

    def path(self, place: int) -> ImagePath:
        origin, shift = divmod(place, 1 + len(self.shifts))
        number, seed = divmod(origin, len(self.seeds))
        return ImagePath(self.classes[number], self.labels[number], self.seeds[seed], ("", *self.shifts)[shift])

    def unit(self, place: int) -> Unit:
        path = self.path(place)
        first = key_of(repr(tuple(path))) & MOST
        return Unit((), range(first, first + (self.scales if path.shift else 1)))
