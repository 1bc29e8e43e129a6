"""ONNX graphs put one behind the other, and their weights in files that several graphs share."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from brittle.errors import BrittleError
from brittle.libraries import first_line

LEAST_SHARED = 1024  # bytes: smaller weights stay within the graph


def opset_of(model: Any) -> int:
    """The version of ONNX's own operations that a model is written in."""
    return max((each.version for each in model.opset_import if each.domain in ("", "ai.onnx")), default=1)


def at_opset(model: Any, opset: int) -> Any:
    """The model in the operations of another version."""
    if opset_of(model) == opset:
        return model
    from onnx import version_converter

    try:
        return version_converter.convert_version(model, opset)
    except Exception as error:
        raise BrittleError(
            f"its operations can't be converted from version {opset_of(model)} to {opset}: {first_line(error)}",
            "Export it again, with opset 18 or newer.",
        ) from error


def joined(first: Any, second: Any, through: Mapping[str, str], keep: Sequence[str] = ()) -> Any:
    """What gives the second model's inputs the first one's outputs, by `through`. Outputs are those of the second, and
    those of the first that are to be kept."""
    from onnx import compose, helper

    opset = max(opset_of(first), opset_of(second))
    first, second = at_opset(first, opset), at_opset(second, opset)
    one, two = compose.add_prefix(first, "a/"), compose.add_prefix(second, "b/")
    names = {f"a/{each.name}": each.name for each in first.graph.input}
    ends = {f"b/{each.name}": each.name for each in second.graph.output} | {f"a/{name}": name for name in keep}
    for each in two.graph.node:
        each.input[:] = [f"a/{_from(name, through)}" if _from(name, through) else name for name in each.input]
    nodes = [
        *(helper.make_node("Identity", [name], [inner]) for inner, name in names.items()),
        *one.graph.node,
        *two.graph.node,
        *(helper.make_node("Identity", [inner], [name]) for inner, name in ends.items()),
    ]
    outputs = [each for each in first.graph.output if each.name in keep]
    graph = helper.make_graph(
        nodes,
        "joined",
        list(first.graph.input),
        [*outputs, *second.graph.output],
        [*one.graph.initializer, *two.graph.initializer],
    )
    found = helper.make_model(graph, opset_imports=_opsets(one, two), functions=[*one.functions, *two.functions])
    found.ir_version = max(first.ir_version, second.ir_version)
    return found


def _from(name: str, through: Mapping[str, str]) -> str:
    """The first model's output that the second one reads under a name."""
    return next((source for source, target in through.items() if f"b/{target}" == name), "")


def _opsets(*models: Any) -> list[Any]:
    found: dict[str, Any] = {}
    for model in models:
        for each in model.opset_import:
            domain = "" if each.domain == "ai.onnx" else each.domain
            if domain not in found or found[domain].version < each.version:
                found[domain] = each
    return list(found.values())


class SharedWeights:
    """A file of weights that graphs refer to: each is in it once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[bytes, int] = {}
        self._length = 0
        path.write_bytes(b"")

    def moved_out_of(self, model: Any) -> None:
        """Leaves the model with references in place of its larger weights."""
        from onnx import TensorProto

        with self.path.open("ab") as file:
            for each in model.graph.initializer:
                content = _content(each)
                if len(content) < LEAST_SHARED:
                    continue
                key = hashlib.sha256(content).digest()
                if key not in self._places:
                    self._places[key] = self._length
                    self._length += file.write(content)
                each.ClearField("raw_data")
                each.data_location = TensorProto.EXTERNAL
                del each.external_data[:]
                where = {"location": self.path.name, "offset": self._places[key], "length": len(content)}
                for name, value in where.items():
                    each.external_data.add(key=name, value=str(value))


def _content(tensor: Any) -> bytes:
    """The numbers of an initializer as bytes; also of those that are kept otherwise, which become bytes first."""
    from onnx import numpy_helper

    if not tensor.raw_data and tensor.data_type != 8:  # texts have no bytes of a fixed length
        plain = numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name)
        tensor.CopyFrom(plain)
    return bytes(tensor.raw_data)
