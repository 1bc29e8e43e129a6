"""What `brittle.measure`, `compare`, `sample` and `run` give back: plain values by key, which print as a table.

A result is a dictionary, as the command line prints it with --json; in a terminal or a notebook it shows itself as the
command line would, and it turns into an Arrow table or a DataFrame.
"""

from brittle.results.base import Derived, Result, Run, Tables, WithRows
from brittle.results.derived import CorruptionErrors, Interference, Lines, Rankings
from brittle.results.measured import (
    Augmentation,
    BreakingPoints,
    Connectedness,
    FailurePoints,
    Layers,
    Occlusions,
    Perturbations,
    Shape,
)
from brittle.results.robustness import Comparison, Hardened, Measured
from brittle.results.weak_points import WeakPoints

__all__ = [
    "Augmentation",
    "BreakingPoints",
    "Comparison",
    "Connectedness",
    "CorruptionErrors",
    "Derived",
    "FailurePoints",
    "Hardened",
    "Interference",
    "Layers",
    "Lines",
    "Measured",
    "Occlusions",
    "Perturbations",
    "Rankings",
    "Result",
    "Run",
    "Shape",
    "Tables",
    "WeakPoints",
    "WithRows",
]
