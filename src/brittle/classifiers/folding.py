"""Batch norms folded into the convolutions before them: w' = w·γ/σ, b' = (b − μ)·γ/σ + β, one operation instead of two.

It pays where the forward pass is then compiled; a GPU's own libraries may choose slower kernels otherwise.
"""

from __future__ import annotations

import copy
from collections import Counter

import torch
from torch import Tensor, fx, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from brittle.device import products_in
from brittle.memory import out_of_memory

CLOSE = 1e-4  # of the outputs' largest: more than float32 makes of another order of operations is not the same network


def folded(module: nn.Module, source: nn.Module, prepared: Tensor) -> nn.Module:
    """A copy of the module without batch norms, or the module itself where there are none, where torch can't follow it,
    or where the copy gives something else for prepared images (B, C, H, W).

    Weights of its `source` are multiplied and compared in float32, and rounded afterwards to the numbers of the module:
    how far the answers of two roundings lie apart says nothing about whether the network is the same. What runs the
    copy is the module's own code, so that graphs of several copies are one."""
    if module.training or not any(isinstance(part, nn.BatchNorm2d) for part in module.modules()):
        return module
    exact = torch.promote_types(prepared.dtype, torch.float32)
    try:
        with torch.no_grad(), products_in("float32"):
            found = without_norms(source, exact)
            meant, given = _in(source, exact)(prepared.to(exact)), found(prepared.to(exact))
            if not isinstance(meant, Tensor) or not isinstance(given, Tensor) or meant.shape != given.shape:
                return module
            apart = (meant - given).abs().max()
            if not bool(apart <= CLOSE * meant.abs().max().clamp(min=1)):
                return module
            found = found.to(prepared.dtype)
            if prepared.is_contiguous(memory_format=torch.channels_last):
                found = found.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    except Exception as error:  # control flow that depends on values, hooks, modules that can't be copied
        if out_of_memory(error):
            raise
        return module
    return found


def without_norms(module: nn.Module, dtype: torch.dtype = torch.float32) -> nn.Module:
    """A copy in which every batch norm that alone uses what a convolution gives is part of that convolution."""
    found = copy.deepcopy(module).to(dtype)
    for convolution, norm in _pairs(module):
        before, after = found.get_submodule(convolution), found.get_submodule(norm)
        if isinstance(before, nn.Conv2d) and isinstance(after, nn.BatchNorm2d):  # as _pairs has seen
            found.set_submodule(convolution, fuse_conv_bn_eval(before, after))
            found.set_submodule(norm, nn.Identity())
    return found


def _in(module: nn.Module, dtype: torch.dtype) -> nn.Module:
    """The module in these numbers: itself, or a copy."""
    floats = (value.dtype for value in module.state_dict().values() if value.is_floating_point())
    return module if all(each == dtype for each in floats) else copy.deepcopy(module).to(dtype)


def _pairs(module: nn.Module) -> list[tuple[str, str]]:
    """Names of convolutions and of the batch norms after them."""
    nodes = [node for node in fx.symbolic_trace(module).graph.nodes if node.op == "call_module"]
    times = Counter(node.target for node in nodes)
    found = []
    for node in nodes:
        before = node.args[0] if node.args else None
        if not isinstance(before, fx.Node) or before.op != "call_module" or len(before.users) != 1:
            continue
        both = str(before.target), str(node.target)
        kinds = tuple(type(module.get_submodule(name)) for name in both)
        if kinds == (nn.Conv2d, nn.BatchNorm2d) and all(times[name] == 1 for name in both):
            found.append(both)
    return found
