"""How brittle an image classifier is, where it breaks, what that looks like, and how to fix it."""

# ruff: noqa: F403, F405

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brittle.api import *
    from brittle.classifiers import classifier
    from brittle.errors import BrittleError, BrittleWarning
    from brittle.images import image_set
    from brittle.images.base import ImageSet
    from brittle.nuisances import nuisance
    from brittle.study import Study
    from brittle.types import Batch, Classifier, Differentiable, Layered, Nuisance

__version__ = "0.1.0"

# Public names that are not functions of `brittle.api`.
ELSEWHERE = {
    "Batch": "brittle.types",
    "BrittleError": "brittle.errors",
    "BrittleWarning": "brittle.errors",
    "Classifier": "brittle.types",
    "Differentiable": "brittle.types",
    "ImageSet": "brittle.images.base",
    "Layered": "brittle.types",
    "Nuisance": "brittle.types",
    "Study": "brittle.study",
    "classifier": "brittle.classifiers",
    "image_set": "brittle.images",
    "nuisance": "brittle.nuisances",
}

# Written by `make api`.
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
    "agreement",
    "augmentation",
    "breaking_points",
    "check",
    "classifier",
    "clean",
    "compare",
    "compare_runs",
    "connectedness",
    "corruption_error",
    "cue_conflict",
    "error_consistency",
    "export",
    "fail",
    "failure_points",
    "filter",
    "generate",
    "generation_cost",
    "harden",
    "image_set",
    "interference",
    "labels_of",
    "layer_changes",
    "layer_noise",
    "line",
    "log",
    "measure",
    "merge",
    "nuisance",
    "occlusion",
    "perturb",
    "perturbation",
    "ranking",
    "robustness",
    "rows",
    "run",
    "sample",
    "shuffling",
    "status",
    "train",
    "train_sliders",
    "train_tokens",
    "verify",
    "weak_points",
]


def __getattr__(name: str) -> Any:
    """Public names are imported when they are first used, so that `brittle --help` imports no torch."""
    if name not in __all__:
        raise AttributeError(f"module 'brittle' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    return getattr(importlib.import_module(ELSEWHERE.get(name, "brittle.api")), name)


def __dir__() -> list[str]:
    """What is public, and not what happens to be imported."""
    return sorted(__all__)
