"""In which numbers torch modules compute: as they are, with products of TF32, or in bfloat16."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

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


@contextmanager
def products_in(precision: Precision) -> Iterator[None]:
    """Within it, matrix products and convolutions on a GPU have the precision that is asked for. Torch rounds the
    convolutions of float32 to TF32 unless it is told not to."""
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.allow_tf32, cudnn.allow_tf32
    if precision != "bf16":
        matmul.allow_tf32 = cudnn.allow_tf32 = precision == "tf32"
    try:
        yield
    finally:
        matmul.allow_tf32, cudnn.allow_tf32 = before
