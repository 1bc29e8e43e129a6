"""Torch code written down as an ONNX graph of images of one shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from brittle.cached import whole_tables
from brittle.errors import BrittleError
from brittle.explorer.graphs.constants import fold_constants
from brittle.explorer.graphs.translations import translations
from brittle.libraries import first_line, quietly

OPSET = 18  # the exporter's own, which needs no conversion afterwards


def exported(
    module: nn.Module, given: Sequence[Tensor], inputs: Sequence[str], outputs: Sequence[str], *, strict: bool = True
) -> Any:
    """A module as an onnx.ModelProto whose inputs look like `given`. `strict`: torch follows the code, and leaves
    tables alone that the code keeps for later; without, it watches what the code does."""
    torch._dynamo.reset()
    try:
        with torch.no_grad(), quietly(), whole_tables():
            program = torch.export.export(module, tuple(given), strict=strict).module(check_guards=False)
            fold_constants(program)
            found = torch.onnx.export(
                torch.export.export(program, tuple(given)),
                tuple(given),
                dynamo=True,
                opset_version=OPSET,
                input_names=list(inputs),
                output_names=list(outputs),
                custom_translation_table=translations(),
                verbose=False,
            )
            assert found is not None
            return _with_inputs(bare(found.model_proto), inputs, given)
    except Exception as error:
        raise BrittleError(f"torch can't write it as an ONNX graph: {_reason(error)}", "Use the local page.") from error


def bare(model: Any) -> Any:
    """The model without notes on its nodes: they are longer than the graph, and name files of the machine where it was
    written."""
    for graph in (model.graph, *model.functions):
        _without_notes(graph)
    del model.metadata_props[:]
    model.doc_string = ""
    return model


def _without_notes(graph: Any) -> None:
    graph.doc_string = ""
    del graph.metadata_props[:], graph.value_info[:]
    for node in graph.node:
        node.doc_string = ""
        del node.metadata_props[:]
        for each in node.attribute:
            for inner in (*([each.g] if each.HasField("g") else []), *each.graphs):
                _without_notes(inner)


def _with_inputs(model: Any, inputs: Sequence[str], given: Sequence[Tensor]) -> Any:
    """The model with all its inputs, also those that it makes no use of, so that callers treat all models alike."""
    from onnx import TensorProto, helper

    kinds = {torch.float32: TensorProto.FLOAT, torch.int64: TensorProto.INT64}
    there = {each.name: each for each in model.graph.input}
    found = [
        there.get(name) or helper.make_tensor_value_info(name, kinds[each.dtype], list(each.shape))
        for name, each in zip(inputs, given, strict=True)
    ]
    del model.graph.input[:]
    model.graph.input.extend(found)
    return model


def _reason(error: BaseException) -> str:
    """What an error of torch comes from: the innermost of those that lead to it says most."""
    while error.__cause__ is not None:
        error = error.__cause__
    return first_line(error)
