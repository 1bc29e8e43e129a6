"""How brittle an image classifier is, where it breaks, what that looks like, and how to fix it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brittle.api import (
        affinity,
        agreement,
        breaking_points,
        compare,
        connect,
        corruption_error,
        cue_conflict,
        error_consistency,
        export,
        failure_points,
        harden,
        interference,
        layer_changes,
        layer_noise,
        line,
        measure,
        occlusion,
        perturb,
        rank,
        rows,
        run,
        sample,
        shuffling,
        train,
    )
    from brittle.classifiers import classifier
    from brittle.errors import BrittleError, BrittleWarning
    from brittle.images import image_set
    from brittle.images.base import ImageSet
    from brittle.nuisances import nuisance
    from brittle.study import Study
    from brittle.types import Batch, Classifier, Differentiable, Layered, Nuisance

__version__ = "0.1.0"

_HOMES = {
    "affinity": "brittle.api",
    "agreement": "brittle.api",
    "breaking_points": "brittle.api",
    "compare": "brittle.api",
    "connect": "brittle.api",
    "corruption_error": "brittle.api",
    "cue_conflict": "brittle.api",
    "error_consistency": "brittle.api",
    "export": "brittle.api",
    "failure_points": "brittle.api",
    "harden": "brittle.api",
    "interference": "brittle.api",
    "layer_changes": "brittle.api",
    "layer_noise": "brittle.api",
    "line": "brittle.api",
    "measure": "brittle.api",
    "occlusion": "brittle.api",
    "perturb": "brittle.api",
    "rank": "brittle.api",
    "rows": "brittle.api",
    "run": "brittle.api",
    "sample": "brittle.api",
    "shuffling": "brittle.api",
    "classifier": "brittle.classifiers",
    "BrittleError": "brittle.errors",
    "BrittleWarning": "brittle.errors",
    "image_set": "brittle.images",
    "ImageSet": "brittle.images.base",
    "nuisance": "brittle.nuisances",
    "Study": "brittle.study",
    "train": "brittle.api",
    "Batch": "brittle.types",
    "Classifier": "brittle.types",
    "Differentiable": "brittle.types",
    "Layered": "brittle.types",
    "Nuisance": "brittle.types",
}

__all__ = [
    "Batch",
    "BrittleError",
    "BrittleWarning",
    "Classifier",
    "Differentiable",
    "ImageSet",
    "Layered",
    "Nuisance",
    "Study",
    "__version__",
    "affinity",
    "agreement",
    "breaking_points",
    "classifier",
    "compare",
    "connect",
    "corruption_error",
    "cue_conflict",
    "error_consistency",
    "export",
    "failure_points",
    "harden",
    "image_set",
    "interference",
    "layer_changes",
    "layer_noise",
    "line",
    "measure",
    "nuisance",
    "occlusion",
    "perturb",
    "rank",
    "rows",
    "run",
    "sample",
    "shuffling",
    "train",
]


def __getattr__(name: str) -> Any:
    """Public names are imported when they are first used, so that `brittle --help` imports no torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'brittle' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """What is public, and not what happens to be imported."""
    return sorted(__all__)
