"""What `brittle.measure`, `compare`, `sample` and `run` give back: plain values by key, which print as a table.

A result is a dictionary, as the command line prints it with --json; in a terminal or a notebook it shows itself as the
command line would, and it turns into an Arrow table or a DataFrame.
"""

from brittle.results.base import Derived, Result, Run, Tables, WithRows
from brittle.results.derived import CorruptionErrors, CueConflicts, ErrorConsistencies, Interference, Lines, Rankings
from brittle.results.measured import (
    Augmentation,
    BreakingPoints,
    Connectedness,
    FailurePoints,
    LayerChanges,
    LayerNoise,
    Occlusions,
    Perturbations,
    Shuffling,
)
from brittle.results.robustness import Comparison, Hardened, Measured
from brittle.results.weak_points import WeakPoints

__all__ = [
    "Augmentation",
    "BreakingPoints",
    "Comparison",
    "Connectedness",
    "CorruptionErrors",
    "CueConflicts",
    "Derived",
    "ErrorConsistencies",
    "FailurePoints",
    "Hardened",
    "Interference",
    "LayerChanges",
    "LayerNoise",
    "Lines",
    "Measured",
    "Occlusions",
    "Perturbations",
    "Rankings",
    "Result",
    "Run",
    "Shuffling",
    "Tables",
    "WeakPoints",
    "WithRows",
]
