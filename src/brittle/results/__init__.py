"""What `brittle.run` and the functions per measure give back: plain values by key, which print as a table.

A result is a dictionary, as the command line prints it with --json; in a terminal or a notebook it shows itself as the
command line would, and it turns into an Arrow table or a DataFrame.
"""

from brittle.results.base import KINDS, Result, ResultValues, RunPresentation
from brittle.results.derived import (
    CorruptionErrorResult,
    CueConflictResult,
    ErrorConsistencyResult,
    InterferenceResult,
    LineResult,
    RankingResult,
)
from brittle.results.gate import GateResult
from brittle.results.generated import (
    FilteredBenchmark,
    GenerateResult,
    LabelledBenchmark,
    TrainSlidersResult,
    TrainTokensResult,
)
from brittle.results.measured import (
    AugmentationResult,
    BreakingPointsResult,
    CleanResult,
    ConnectednessResult,
    FailurePointsResult,
    LayerChangesResult,
    LayerNoiseResult,
    OcclusionResult,
    PerturbationResult,
    ShufflingResult,
)
from brittle.results.robustness import HardenResult, RobustnessResult
from brittle.results.run import StudyResult
from brittle.results.weak_points import WeakPointsResult

__all__ = [
    "KINDS",
    "AugmentationResult",
    "BreakingPointsResult",
    "CleanResult",
    "ConnectednessResult",
    "CorruptionErrorResult",
    "CueConflictResult",
    "ErrorConsistencyResult",
    "FailurePointsResult",
    "FilteredBenchmark",
    "GateResult",
    "GenerateResult",
    "HardenResult",
    "InterferenceResult",
    "LabelledBenchmark",
    "LayerChangesResult",
    "LayerNoiseResult",
    "LineResult",
    "OcclusionResult",
    "PerturbationResult",
    "RankingResult",
    "Result",
    "ResultValues",
    "RobustnessResult",
    "RunPresentation",
    "ShufflingResult",
    "StudyResult",
    "TrainSlidersResult",
    "TrainTokensResult",
    "WeakPointsResult",
]
