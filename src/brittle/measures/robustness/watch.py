"""Reads a cell's rows in planned order into a tally, and says where the plan may stop.

The answer depends on the contiguous finished prefix of the plan alone: what lies past the stopping point is
discarded, so one worker or a hundred, resumed or not, give the same numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from numpy.typing import NDArray

from brittle.measures.plan import Span, Unit
from brittle.measures.robustness.estimate import Reach, checkpoints, complete, enough
from brittle.measures.rows import to_columns

if TYPE_CHECKING:
    from brittle.measures.robustness.measure import Robustness


class Watch:
    """One classifier under one nuisance. `clean` holds its clean predictions (M,), filled before they are read."""

    def __init__(
        self, measure: Robustness, units: Sequence[Unit], count: int, population: int, clean: NDArray[Any]
    ) -> None:
        self.measure, self.units, self.population, self.clean = measure, units, population, clean
        self.tally = measure.tally(count)
        self.reach = Reach(0, 0, 0, False)
        self._next = 0
        self._waiting: dict[int, tuple[Span, Mapping[str, NDArray[Any]]]] = {}
        self._complete = {place: (images, draws) for place, images, draws in complete(measure, units, count)}
        self._checked = {place for place, _, _ in checkpoints(measure, units, count)}

    @property
    def finished(self) -> bool:
        return self.reach.enough or self._next == len(self.units)

    def feed(self, span: Span, rows: pa.Table) -> None:
        """Rows of a span; what lies past a gap waits until the gap is filled."""
        if self.finished:
            return
        self._waiting[span.first] = span, to_columns(rows)
        while (ready := self._waiting.pop(self._next, None)) is not None:
            self._read(*ready)

    def _read(self, span: Span, columns: Mapping[str, NDArray[Any]]) -> None:
        at = 0
        for unit in self.units[span.first : span.end]:
            if self.reach.enough:
                return
            rows = {name: values[at : at + unit.rows] for name, values in columns.items()}
            at += unit.rows
            self.tally.update(unit, rows, self.clean[unit.first_image : unit.end_image])
            self._next += 1
            if self._next in self._complete:
                self.reach = Reach(*self._complete[self._next], self._next, False)
                if self.measure.tolerance is not None and self._next in self._checked:
                    self.reach = self.reach._replace(
                        enough=enough(self.measure, self.tally, self.reach, self.population)
                    )
