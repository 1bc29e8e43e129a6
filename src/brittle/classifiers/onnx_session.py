"""A torch module that onnxruntime carries out: exported once, for CPUs, where it is up to twice as fast as torch.

onnxruntime folds batch norms, fuses activations into convolutions and keeps its own memory, none of which torch does
where it runs a module operation by operation. Preparing images and reading scores stay with torch.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from brittle.classifiers.onnx_pieces import pieces
from brittle.errors import BrittleError
from brittle.libraries import quietly
from brittle.types import Graph

INPUT = "images"


@runtime_checkable
class Exportable(Protocol):
    """A classifier that onnxruntime can carry out on a CPU."""

    def exported(self, images: Tensor) -> Graph:
        """`log_probs` for images like these (B, C, H, W), on which it has been tried."""
        ...


@dataclass(frozen=True, eq=False)
class OnnxGraph:
    """See `brittle.types.Graph`; torch can't look into it."""

    prepared: Callable[[Tensor], Tensor]
    session: Any
    log_probs: Callable[[Tensor], Tensor]  # of scores

    traceable: ClassVar[bool] = False
    structure: ClassVar[Hashable] = "onnx"

    def __call__(self, images: Tensor) -> Tensor:
        prepared = self.prepared(images).contiguous().numpy()
        found = [self.session.run(None, {INPUT: each})[0] for each in pieces(self.session, prepared)]
        return self.log_probs(torch.from_numpy(np.concatenate(found)))


def opened(module: nn.Module, prepared: Tensor) -> Any:
    """A session of onnxruntime that computes the scores of images like those that are given, however many."""
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ModuleNotFoundError as error:
        raise BrittleError(f"{error.name} is not installed", "pip install onnx onnxscript") from error
    import onnxruntime

    free = {0: torch.export.Dim.DYNAMIC}
    with torch.no_grad(), quietly():
        program = torch.onnx.export(
            _Scores(module), (prepared,), dynamo=True, input_names=[INPUT], dynamic_shapes=(free,), verbose=False
        )
    assert program is not None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = torch.get_num_threads(), 3
    model = program.model_proto.SerializeToString()
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


class _Scores(nn.Module):
    """The scores alone, as a tensor."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, images: Tensor) -> Tensor:
        found = self.module(images)
        scores: Tensor = getattr(found, "logits", found)
        return scores
