"""Folds that measures share: what a cell's rows come to, in memory that can be said beforehand.

Rows are read once, unit by unit, and never as a whole table. What several workers found of different units of a cell is
merged, in planned order. `ImageSums` grows with the images and not with the draws; `ImageValues` holds a few bytes for
every place on the axis, for statistics that need each of them; `KeptRows` keeps some columns of tables that are short.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from brittle.measures.arrays import Array, Mask
from brittle.measures.base import ROWS, ImageSetFacts, ReadRows, Tables, together
from brittle.measures.plan import Unit

Grouped = tuple[NDArray[Any], Mapping[str, NDArray[Any]]]  # a place on an axis for every row, and values of the rows


class WholeFold:
    """A fold that never has enough before the plan ends."""

    can_stop = False
    finished = False


@dataclass
class ImageSums(WholeFold):
    """Sums of rows by group and image: 4 bytes of each, and 8 for every value. `of` gives the group (n,) and the
    values (n,) of some rows."""

    subject: ImageSetFacts
    groups: int
    of: Callable[[pa.Table], Grouped]
    counts: NDArray[np.uint32] = field(init=False)  # (groups, M) rows
    sums: dict[str, Array] = field(init=False, default_factory=dict)  # (groups, M) by name

    def update(self, unit: Unit, tables: Tables, given: ReadRows) -> None:
        rows = tables[ROWS]
        group, values = self.of(rows)
        self._begin(values)
        at = np.ravel_multi_index((group, self.subject.places(rows["image"].to_numpy())), self.counts.shape)
        cells, inside = np.unique(at, return_inverse=True)
        self.counts.reshape(-1)[cells] += np.bincount(inside, minlength=len(cells)).astype(np.uint32)
        for name, value in values.items():
            self.sums[name].reshape(-1)[cells] += np.bincount(inside, value, len(cells))

    def _begin(self, names: Mapping[str, Any]) -> None:
        if not hasattr(self, "counts"):
            shape = self.groups, len(self.subject)
            self.counts = np.zeros(shape, np.uint32)
            self.sums = {name: np.zeros(shape) for name in names}

    def merge(self, later: Self) -> None:
        if hasattr(later, "counts"):
            self._begin(later.sums)
            self.counts += later.counts
            for name, values in later.sums.items():
                self.sums[name] += values

    def compute(self) -> Self:
        self._begin({})
        return self

    def of_group(self, name: str, group: int) -> Array:
        """(M,) the sum of each image."""
        return self.sums[name][group] if name in self.sums else np.zeros(len(self.subject))

    def mean(self, name: str, group: int) -> Array:
        """(M,) of each image; 0 of one that has no rows."""
        found: Array = self.of_group(name, group) / np.maximum(self.counts[group], 1)
        return found


@dataclass
class ImageValues(WholeFold):
    """A value of every image and place on an axis, in the numbers that rows have, and a byte that says whether it is
    there. `of` gives the place (n,) and the values (n,) of some rows."""

    subject: ImageSetFacts
    width: int
    of: Callable[[pa.Table], Grouped]
    seen: Mask = field(init=False)  # (M, width)
    values: dict[str, NDArray[Any]] = field(init=False, default_factory=dict)  # (M, width) by name; 0 unless seen
    twice: list[tuple[int, int]] = field(init=False, default_factory=list)  # image and place that have two rows

    def update(self, unit: Unit, tables: Tables, given: ReadRows) -> None:
        rows = tables[ROWS]
        place, values = self.of(rows)
        self._begin({name: value.dtype for name, value in values.items()})
        at = np.ravel_multi_index((self.subject.places(rows["image"].to_numpy()), place), self.seen.shape)
        seen = self.seen.reshape(-1)
        if not self.twice and (seen[at].any() or len(np.unique(at)) < len(at)):
            known, counts = np.unique(at, return_counts=True)
            first = int(known[(counts > 1) | seen[known]][0])
            self.twice.append(divmod(first, self.width))
        seen[at] = True
        for name, value in values.items():
            self.values[name].reshape(-1)[at] = value

    def _begin(self, kinds: Mapping[str, np.dtype[Any]]) -> None:
        if not hasattr(self, "seen"):
            shape = len(self.subject), self.width
            self.seen = np.zeros(shape, bool)
            self.values = {name: np.zeros(shape, kind) for name, kind in kinds.items()}

    def merge(self, later: Self) -> None:
        if not hasattr(later, "seen"):
            return
        self._begin({name: value.dtype for name, value in later.values.items()})
        both = np.argwhere(self.seen & later.seen)[:1].tolist()
        self.twice += [*later.twice, *((image, place) for image, place in both)]
        for name, value in later.values.items():
            np.copyto(self.values[name], value, where=later.seen)
        self.seen |= later.seen

    def compute(self) -> Self:
        self._begin({})
        return self

    def __getitem__(self, name: str) -> NDArray[Any]:
        """(M, width); zeros where no row was there to say what they are."""
        found = self.values.get(name)
        return np.zeros(self.seen.shape) if found is None else found


@dataclass
class KeptRows(WholeFold):
    """Some columns of some tables, all of them but `unit` by default, in planned order: for tables that are short."""

    columns: Mapping[str, Sequence[str] | None]  # by table
    parts: dict[str, list[pa.Table]] = field(init=False, default_factory=dict)

    def update(self, unit: Unit, tables: Tables, given: ReadRows) -> None:
        for name, columns in self.columns.items():
            if name in tables:
                rows = tables[name]
                kept = rows.drop_columns(["unit"]) if columns is None else rows.select(list(columns))
                self.parts.setdefault(name, []).append(kept)

    def merge(self, later: Self) -> None:
        for name, parts in later.parts.items():
            self.parts.setdefault(name, []).extend(parts)

    def compute(self) -> dict[str, pa.Table]:
        """By name, those tables that there are."""
        return {name: together(parts) for name, parts in self.parts.items()}


@dataclass
class JoinedFold(WholeFold):
    """Several folds that read the same units, by name."""

    folds: Mapping[str, Any]

    def update(self, unit: Unit, tables: Tables, given: ReadRows) -> None:
        for each in self.folds.values():
            each.update(unit, tables, given)

    def merge(self, later: Self) -> None:
        for name, each in self.folds.items():
            each.merge(later.folds[name])

    def compute(self) -> dict[str, Any]:
        return {name: each.compute() for name, each in self.folds.items()}
