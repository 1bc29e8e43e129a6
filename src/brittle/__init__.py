"""How brittle an image classifier is, where it breaks, what that looks like, and how to fix it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brittle.api.agreement import agreement
    from brittle.api.export import export, rows
    from brittle.api.generated import (
        augmentation,
        breaking_points,
        clean,
        compare,
        connectedness,
        corruption_error,
        cue_conflict,
        error_consistency,
        fail,
        failure_points,
        harden,
        interference,
        layer_changes,
        layer_noise,
        line,
        measure,
        occlusion,
        perturb,
        perturbation,
        ranking,
        robustness,
        sample,
        shuffling,
        train,
        weak_points,
    )
    from brittle.api.running import run
    from brittle.classifiers import classifier
    from brittle.errors import BrittleError, BrittleWarning
    from brittle.images import image_set
    from brittle.images.base import ImageSet
    from brittle.nuisances import nuisance
    from brittle.study import Study
    from brittle.types import Batch, Classifier, Differentiable, Layered, Nuisance

__version__ = "0.1.0"

_HOMES = {
    "brittle.api": (
        "agreement",
        "augmentation",
        "breaking_points",
        "clean",
        "compare",
        "connectedness",
        "corruption_error",
        "cue_conflict",
        "error_consistency",
        "export",
        "fail",
        "failure_points",
        "harden",
        "interference",
        "layer_changes",
        "layer_noise",
        "line",
        "measure",
        "occlusion",
        "perturb",
        "perturbation",
        "ranking",
        "robustness",
        "rows",
        "run",
        "sample",
        "shuffling",
        "train",
        "weak_points",
    ),
    "brittle.classifiers": ("classifier",),
    "brittle.errors": (
        "BrittleError",
        "BrittleWarning",
    ),
    "brittle.images": ("image_set",),
    "brittle.images.base": ("ImageSet",),
    "brittle.nuisances": ("nuisance",),
    "brittle.study": ("Study",),
    "brittle.types": (
        "Batch",
        "Classifier",
        "Differentiable",
        "Layered",
        "Nuisance",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

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
    "classifier",
    "clean",
    "compare",
    "connectedness",
    "corruption_error",
    "cue_conflict",
    "error_consistency",
    "export",
    "fail",
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
    "perturbation",
    "ranking",
    "robustness",
    "rows",
    "run",
    "sample",
    "shuffling",
    "train",
    "weak_points",
]


def __getattr__(name: str) -> Any:
    """Public names are imported when they are first used, so that `brittle --help` imports no torch."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'brittle' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    """What is public, and not what happens to be imported."""
    return sorted(__all__)
