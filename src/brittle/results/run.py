"""The result of `brittle.run`: everything that a study says, and each of its measures."""

from __future__ import annotations

from brittle.engine.run import FinishedRun
from brittle.errors import BrittleError
from brittle.registry import did_you_mean
from brittle.results.base import Result, Values
from brittle.results.derived import CorruptionErrors, CueConflicts, ErrorConsistencies, Interference, Lines, Rankings
from brittle.results.measured import (
    Augmentation,
    BreakingPoints,
    Clean,
    Connectedness,
    FailurePoints,
    LayerChanges,
    LayerNoise,
    Occlusions,
    Perturbations,
    Shuffling,
)
from brittle.results.robustness import Robustness
from brittle.results.weak_points import WeakPoints

KINDS: dict[str, type[Result]] = {
    "augmentation": Augmentation,
    "breaking-points": BreakingPoints,
    "clean": Clean,
    "connectedness": Connectedness,
    "corruption-error": CorruptionErrors,
    "cue-conflict": CueConflicts,
    "error-consistency": ErrorConsistencies,
    "failure-points": FailurePoints,
    "interference": Interference,
    "layer-changes": LayerChanges,
    "layer-noise": LayerNoise,
    "line": Lines,
    "occlusion": Occlusions,
    "perturbation": Perturbations,
    "ranking": Rankings,
    "robustness": Robustness,
    "shuffling": Shuffling,
    "weak-points": WeakPoints,
}


class Run(Values):
    """A study carried out: `measures`, by name, `warnings`, and what was used."""

    def __init__(self, run: FinishedRun) -> None:
        super().__init__(run, None, run.summary)

    def of(self, measure: str) -> Result:
        """What one measure says, as the function of that name gives it back."""
        known = self["measures"]
        if measure not in known:
            raise BrittleError(f"the run holds no measure called {measure!r}", did_you_mean(measure, known))
        return KINDS.get(known[measure]["kind"], Result)(self.run, measure)
