"""Measures: what is computed for a classifier, an image set and a nuisance. Rows per image, and a summary.

In Python a measure is its dataclass: `brittle.measures.Robustness(samples=50)`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from brittle.registry import Registry

if TYPE_CHECKING:
    from brittle.measures.augmentation.measure import Augmentation as Augmentation
    from brittle.measures.base import Measure
    from brittle.measures.breaking_points.measure import BreakingPoints as BreakingPoints
    from brittle.measures.clean.measure import Clean as Clean
    from brittle.measures.connectedness.measure import Connectedness as Connectedness
    from brittle.measures.corruption_error.measure import CorruptionError as CorruptionError
    from brittle.measures.cue_conflict.measure import CueConflict as CueConflict
    from brittle.measures.error_consistency.measure import ErrorConsistency as ErrorConsistency
    from brittle.measures.failure_points.measure import FailurePoints as FailurePoints
    from brittle.measures.interference.measure import Interference as Interference
    from brittle.measures.layer_changes.measure import LayerChanges as LayerChanges
    from brittle.measures.layer_noise.measure import LayerNoise as LayerNoise
    from brittle.measures.line.measure import Line as Line
    from brittle.measures.occlusion.measure import Occlusion as Occlusion
    from brittle.measures.perturbation.measure import Perturbation as Perturbation
    from brittle.measures.ranking.measure import Ranking as Ranking
    from brittle.measures.robustness.measure import Robustness as Robustness
    from brittle.measures.shuffling.measure import Shuffling as Shuffling
    from brittle.measures.weak_points.measure import WeakPoints as WeakPoints

measures: Registry[Measure] = Registry("measure", __name__, own_code=True)
register = measures.register


def __getattr__(name: str) -> Any:
    """The dataclass of a measure, imported when it is first used: `WeakPoints` is that of `weak-points`."""
    package = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
    if name[:1].isupper() and package.replace("_", "-") in measures.names():
        return getattr(importlib.import_module(f"{__name__}.{package}.measure"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
