"""In which numbers torch modules compute: as they are, with products of TF32, or in bfloat16."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from brittle.types import AnyPrecision, Classifier, Precision


def in_precision(classifiers: Mapping[str, Classifier], precision: Precision) -> dict[str, Classifier]:
    """Classifiers that compute in these numbers, where they can."""
    if precision != "bf16":
        return dict(classifiers)
    return {
        name: each.in_dtype(torch.bfloat16) if isinstance(each, AnyPrecision) else each
        for name, each in classifiers.items()
    }
