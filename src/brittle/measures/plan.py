"""How a measure's work is cut into units, in an order fixed beforehand.

The cut depends on the study alone, never on batch size, device or workers, because early stopping looks at the ends of
units and must give the same answer everywhere. A plan is a sequence of units that is computed as it is read: a plan of
a million units takes no memory.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, overload

from numpy.typing import NDArray


class Span(NamedTuple):
    """Units [first, end) in planned order."""

    first: int
    end: int


class Unit(NamedTuple):
    """The smallest piece of a cell that is done or not done: some images × a range of the measure's own axis."""

    images: range | tuple[int, ...]  # places in planned order; none where the measure looks at no image
    axis: range  # draws, repeats, targets, layers

    @property
    def size(self) -> int:
        """Pairs of an image and a place on the axis."""
        return len(self.images) * len(self.axis)


Columns = Mapping[str, NDArray[Any]]


class Plan(Sequence[Unit]):
    """Units in planned order, and what the places on their axis are.

    `columns` tells the places apart by columns of the rows; no columns where the image alone does. With these a run is
    extended by more images and places. None where rows also depend on which other images or places there are: they are
    used again only where the whole unit is the same."""

    columns: Columns | None

    @abstractmethod
    def unit(self, place: int) -> Unit:
        """The unit at a place from 0 on."""

    @overload
    def __getitem__(self, place: int) -> Unit: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Unit]: ...
    def __getitem__(self, place: int | slice) -> Unit | Sequence[Unit]:
        if isinstance(place, slice):
            return [self.unit(each) for each in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        return self.unit(place % len(self))


@dataclass(frozen=True)
class UnitList(Plan):
    """Units one by one."""

    units: Sequence[Unit]
    columns: Columns | None = field(default=None, compare=False)

    def __len__(self) -> int:
        return len(self.units)

    def unit(self, place: int) -> Unit:
        return self.units[place]


NO_UNITS = UnitList((), {})


@dataclass(frozen=True)
class Grid(Plan):
    """Images × axis in rectangles: all of the axis for the first images, then for the next; or round by round, the
    first stretch of the axis for all images, then the next."""

    images: int
    axis: int
    images_per_unit: int
    axis_per_unit: int
    by_round: bool = False
    columns: Columns | None = field(default=None, compare=False)

    @property
    def _blocks(self) -> int:
        return -(-self.images // self.images_per_unit)

    @property
    def _stretches(self) -> int:
        return -(-self.axis // self.axis_per_unit)

    def __len__(self) -> int:
        return self._blocks * self._stretches

    def unit(self, place: int) -> Unit:
        if self.by_round:
            stretch, block = divmod(place, self._blocks)
        else:
            block, stretch = divmod(place, self._stretches)
        image, start = block * self.images_per_unit, stretch * self.axis_per_unit
        return Unit(
            range(image, min(image + self.images_per_unit, self.images)),
            range(start, min(start + self.axis_per_unit, self.axis)),
        )

    def covering(self, first: int, end: int) -> Iterator[Span]:
        """The units that hold images [first, end), as few spans as possible, in planned order."""
        end = min(end, self.images)
        if first >= end:
            return
        blocks = Span(first // self.images_per_unit, -(-end // self.images_per_unit))
        if not self.by_round:
            yield Span(blocks.first * self._stretches, blocks.end * self._stretches)
        elif (blocks.first, blocks.end) == (0, self._blocks):
            yield Span(0, len(self))
        else:
            for stretch in range(self._stretches):
                yield Span(stretch * self._blocks + blocks.first, stretch * self._blocks + blocks.end)


def covering(plan: Sequence[Unit], first: int, end: int) -> list[Span]:
    """The units of a plan that hold any of the images [first, end), in planned order."""
    if isinstance(plan, Grid):
        return list(plan.covering(first, end))
    return [
        Span(place, place + 1) for place, unit in enumerate(plan) if any(first <= image < end for image in unit.images)
    ]


def rows_per_unit(numbers_per_image: int) -> int:
    """About 32 million numbers: seconds of work for a small network, so that a kill loses little."""
    return max(64, min(1 << 15, (1 << 25) // numbers_per_image))
