"""The result of `brittle.run`: everything that a study says, and each of its measures."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.engine.run import FinishedRun
from brittle.errors import BrittleError
from brittle.registry import did_you_mean
from brittle.results.base import KINDS, Result, ResultValues


class StudyResult(ResultValues):
    """A study carried out: `measures`, by name, `warnings`, and what was used."""

    def __init__(self, run: FinishedRun, findings: Sequence[str] = ()) -> None:
        super().__init__(run, None, run.summary, findings)

    def of(self, measure: str) -> Result:
        """What one measure says, as the function of that name gives it back."""
        known = self["measures"]
        if measure not in known:
            raise BrittleError(f"the run holds no measure called {measure!r}", did_you_mean(measure, known))
        return KINDS.get(known[measure]["kind"], Result)(self.run, measure, findings=self.findings)
