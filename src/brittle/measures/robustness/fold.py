"""Reads a cell's rows in planned order into a tally, and says where the plan may stop."""

from __future__ import annotations

from functools import cached_property

from brittle.measures.base import ROWS, ImageSetFacts, ReadRows, Tables
from brittle.measures.clean.measure import predictions
from brittle.measures.outcomes import outcome_columns
from brittle.measures.plan import Unit
from brittle.measures.robustness.estimate import PlanReach, meets_tolerance
from brittle.measures.robustness.options import RobustnessOptions
from brittle.measures.robustness.tally import Tally

FURTHER = 1.05  # the tolerance is looked at again where the plan is at least 5 % further


class RobustnessFold:
    """One classifier under one nuisance."""

    def __init__(self, options: RobustnessOptions, subject: ImageSetFacts, units: int) -> None:
        self.options, self.subject, self.units = options, subject, units
        self.reach = PlanReach(0, 0, 0, False)
        self._read, self._looked_at = 0, 0

    @cached_property
    def tally(self) -> Tally:
        rounds = self.options.draws if self.options.estimand == "set" else 0
        return Tally(len(self.subject), self.options.worst_of, rounds)

    @property
    def can_stop(self) -> bool:
        return self.options.stops

    @property
    def finished(self) -> bool:
        return self.options.stops and self.reach.enough

    def update(self, unit: Unit, tables: Tables, given: ReadRows) -> None:
        assert isinstance(unit.images, range)
        ids = self.subject.ids[unit.images.start : unit.images.stop]
        self.tally.update(unit, outcome_columns(tables[ROWS]), predictions(given, ids))
        self._read += 1
        reach = self._complete(unit.images.stop, unit.axis.stop)
        if reach is not None:
            self.reach = reach
            if self.options.stops and self._may_stop_at(reach):
                self.reach = reach._replace(
                    enough=meets_tolerance(self.options, self.tally, reach, self.subject.population)
                )

    def merge(self, later: RobustnessFold) -> None:
        self.tally.merge(later.tally)
        if later.reach.units:
            self.reach = later.reach._replace(units=self._read + later.reach.units)
        self._read += later._read

    def compute(self) -> tuple[Tally, PlanReach]:
        return self.tally, self.reach

    def _complete(self, images: int, draws: int) -> PlanReach | None:
        """How far the plan may be read after a unit that ends there: all images having the same number of draws."""
        whole = images == len(self.subject) if self.options.estimand == "set" else draws == self.options.draws
        whole = whole and draws % self.options.block == 0
        return PlanReach(images, draws, self._read, False) if whole else None

    def _may_stop_at(self, reach: PlanReach) -> bool:
        seen = reach.images * reach.draws
        if self._looked_at and seen < FURTHER * self._looked_at and self._read < self.units:
            return False
        self._looked_at = seen
        return True
