"""Reads a cell's rows in planned order into a tally, and says where the plan may stop."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from brittle.measures.base import ROWS, About, Given, Tables
from brittle.measures.clean.measure import predictions
from brittle.measures.outcomes import outcome_columns
from brittle.measures.plan import Unit
from brittle.measures.robustness.estimate import Reach, enough
from brittle.measures.robustness.tally import Tally

if TYPE_CHECKING:
    from brittle.measures.robustness.measure import Robustness

FURTHER = 1.05  # the tolerance is looked at again where the plan is at least 5 % further


class RobustnessFold:
    """One classifier under one nuisance."""

    def __init__(self, measure: Robustness, about: About) -> None:
        assert about.subject is not None
        self.measure, self.subject, self.units = measure, about.subject, len(measure.plan(about))
        self.reach = Reach(0, 0, 0, False)
        self._read, self._looked_at = 0, 0

    @cached_property
    def tally(self) -> Tally:
        return self.measure.tally(len(self.subject))

    @property
    def can_stop(self) -> bool:
        return self.measure.stops

    @property
    def finished(self) -> bool:
        return self.measure.stops and self.reach.enough

    def feed(self, unit: Unit, tables: Tables, given: Given) -> None:
        assert isinstance(unit.images, range)
        ids = self.subject.ids[unit.images.start : unit.images.stop]
        self.tally.update(unit, outcome_columns(tables[ROWS]), predictions(given, ids))
        self._read += 1
        reach = self._complete(unit.images.stop, unit.axis.stop)
        if reach is not None:
            self.reach = reach
            if self.measure.stops and self._to_be_looked_at(reach):
                self.reach = reach._replace(enough=enough(self.measure, self.tally, reach, self.subject.population))

    def _complete(self, images: int, draws: int) -> Reach | None:
        """How far the plan may be read after a unit that ends there: all images having the same number of draws."""
        whole = images == len(self.subject) if self.measure.estimand == "set" else draws == self.measure.draws
        return Reach(images, draws, self._read, False) if whole else None

    def _to_be_looked_at(self, reach: Reach) -> bool:
        seen = reach.images * reach.draws
        if self._looked_at and seen < FURTHER * self._looked_at and self._read < self.units:
            return False
        self._looked_at = seen
        return True
