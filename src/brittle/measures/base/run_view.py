"""A run as its measures read it back: cells, rows in planned order, and folds that read these."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from brittle.measures.base.facts import About, ClassifierFacts, ImageSetFacts
from brittle.measures.base.task import ROWS, ReadRows, Tables
from brittle.measures.plan import Plan, Unit
from brittle.types import Nuisance

T = TypeVar("T")


class Cell(NamedTuple):
    """One measure of one classifier on one image set under one nuisance; "" where the measure takes none."""

    measure: str
    classifier: str = ""
    images: str = ""
    nuisance: str = ""


class Fold(Protocol):
    """What a cell's rows come to. Fed with its units in planned order, says when there are enough; of a cell that can't
    stop early, several workers each feed one with a part of the units, and what they found is merged.

    What it keeps should grow with the images and not with the rows: nobody ever holds a large cell's whole table."""

    @property
    def can_stop(self) -> bool:
        """Whether it may ever have enough before the plan ends: so from the first, and for good."""
        ...

    @property
    def finished(self) -> bool:
        """Whether the units so far are enough."""
        ...

    def update(self, unit: Unit, tables: Tables, given: ReadRows) -> None:
        """Adds a unit: its tables, and what the measure reads of its images, and perhaps of their neighbours."""
        ...

    def merge(self, later: Self) -> None:
        """Adds what another fold of the same cell was fed with, all of it later in planned order. It is not used any
        more. A fold that can stop is never asked."""
        ...

    def compute(self) -> Any:
        """What the summary is written from."""
        ...


class RunView(Protocol):
    """A run's rows of one measure, as it reads them back. No classifier is loaded for it."""

    @property
    def name(self) -> str:
        """Of the measure in the study."""
        ...

    @property
    def seed(self) -> int: ...

    @property
    def classifiers(self) -> Mapping[str, ClassifierFacts]:
        """Those that this measure is asked about; so with images and nuisances."""
        ...

    @property
    def images(self) -> Mapping[str, ImageSetFacts]: ...

    @property
    def nuisances(self) -> Mapping[str, Nuisance]: ...

    def about(self, cell: Cell) -> About: ...

    def plan(self, cell: Cell) -> Plan: ...

    def cell(self, classifier: str = "", images: str = "", nuisance: str = "") -> Cell:
        """This measure's cell; what it does not name is left out."""
        ...

    def cells(self) -> Iterator[Cell]: ...

    def rows(self, cell: Cell, table: str = ROWS) -> Iterator[pa.Table]:
        """What is finished, in planned order, and never past the point where the measure stopped."""
        ...

    def table(self, cell: Cell, table: str = ROWS) -> pa.Table:
        """All of that as one table, which of a large cell may be larger than memory: see `fold`."""
        ...

    def fold(self, cell: Cell) -> Fold:
        """The measure's fold, fed with all of that: also of a measure that is read."""
        ...

    def read(self, kind: str) -> RunView | None:
        """A measure that this one reads; None where the study has none."""
        ...

    def references(self, classifier: str, images: str) -> NDArray[np.int64]:
        """(M,) labels as the classifier counts its classes; −1 where an image has none."""
        ...

    def prior(self, images: str, nuisance: str) -> str:
        """What the nuisance's prior means on these images, in words."""
        ...


def two_by_two(found: Mapping[str, T]) -> Iterator[tuple[dict[str, Any], T, T]]:
    """Every pair of classifiers, or of models: its names as entries of a summary, and what was found of either."""
    for (first, one), (second, other) in itertools.combinations(found.items(), 2):
        yield {"first": first, "second": second}, one, other


def pairs_of(run: RunView) -> list[tuple[str, str]]:
    """The image sets and nuisances of a run's cells: an image set in scales has nuisances of its own."""
    return list(dict.fromkeys((cell.images, cell.nuisance) for cell in run.cells()))
