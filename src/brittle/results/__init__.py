"""What `brittle.run` and the functions per measure give back: plain values by key, which print as a table.

A result is a dictionary, as the command line prints it with --json; in a terminal or a notebook it shows itself as the
command line would, and it turns into an Arrow table or a DataFrame.
"""

from brittle.results.base import KINDS, Result, Tables, Values
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
from brittle.results.robustness import Hardened, Robustness
from brittle.results.run import Run
from brittle.results.weak_points import WeakPoints

__all__ = [
    "KINDS",
    "Augmentation",
    "BreakingPoints",
    "Clean",
    "Connectedness",
    "CorruptionErrors",
    "CueConflicts",
    "ErrorConsistencies",
    "FailurePoints",
    "Hardened",
    "Interference",
    "LayerChanges",
    "LayerNoise",
    "Lines",
    "Occlusions",
    "Perturbations",
    "Rankings",
    "Result",
    "Robustness",
    "Run",
    "Shuffling",
    "Tables",
    "Values",
    "WeakPoints",
]
