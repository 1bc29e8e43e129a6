"""Numbers of a traced program that depend on no input, computed once and kept in it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, fx, nn

LARGEST = 1 << 18  # bytes: what is larger is computed by whoever runs the graph


def fold_constants(program: fx.GraphModule) -> None:
    """Replaces every node that depends on no input by its value. Also those that ONNX has no operation for go: tables
    are made with more kinds of operations than images are changed with."""
    known: dict[fx.Node, Any] = {}
    for node in program.graph.nodes:
        if node.op == "get_attr":
            value = _attribute(program, str(node.target))
            if isinstance(value, (Tensor, nn.Module)):
                known[node] = value
        elif node.op == "call_function" and all(each in known for each in node.all_input_nodes):
            known[node] = _computed(node, known)
    for place, (node, value) in enumerate(known.items()):
        needed = any(user not in known for user in node.users)
        if node.op != "call_function" or not isinstance(value, Tensor) or not needed:
            continue
        if value.numel() * value.element_size() > LARGEST:
            continue
        name = f"_constant_{place}"
        program.register_buffer(name, value.contiguous())
        with program.graph.inserting_before(node):
            node.replace_all_uses_with(program.graph.get_attr(name))
    program.graph.eliminate_dead_code()
    program.recompile()


def _computed(node: fx.Node, known: dict[fx.Node, Any]) -> Any:
    assert callable(node.target)
    arguments: Any = fx.node.map_arg(node.args, known.__getitem__)
    keywords: Any = fx.node.map_arg(node.kwargs, known.__getitem__)
    with torch.no_grad():
        return node.target(*arguments, **keywords)


def _attribute(program: fx.GraphModule, name: str) -> Any:
    value: Any = program
    for part in name.split("."):
        value = getattr(value, part)
    return value
