"""Batch norms folded into the convolutions before them: w' = w·γ/σ, b' = (b − μ)·γ/σ + β, one operation instead of two.

It pays where the forward pass is then compiled; a GPU's own libraries may choose slower kernels otherwise.
"""

from __future__ import annotations

import copy
from collections import Counter

import torch
from torch import Tensor, fx, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from brittle.memory import out_of_memory

CLOSE = 1e-4  # of the outputs' largest: more than float32 makes of another order of operations is not the same network
CLOSE_IN_FEWER_BITS = 0.05


def folded(module: nn.Module, source: nn.Module, prepared: Tensor) -> nn.Module:
    """A copy of the module without batch norms, or the module itself where there are none, where torch can't follow it,
    or where the copy gives something else for prepared images (B, C, H, W).

    Weights are multiplied in the numbers of its `source`, and rounded afterwards to those of the module. What runs the
    copy is the module's own code, so that graphs of several copies are one."""
    if module.training or not any(isinstance(part, nn.BatchNorm2d) for part in module.modules()):
        return module
    try:
        with torch.no_grad():
            found = without_norms(source).to(prepared.dtype)
            if prepared.is_contiguous(memory_format=torch.channels_last):
                found = found.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
            meant, given = module(prepared), found(prepared)
    except Exception as error:  # control flow that depends on values, hooks, modules that can't be copied
        if out_of_memory(error):
            raise
        return module
    if not isinstance(meant, Tensor) or not isinstance(given, Tensor) or meant.shape != given.shape:
        return module
    limit = CLOSE if meant.dtype in (torch.float32, torch.float64) else CLOSE_IN_FEWER_BITS
    apart = (meant.float() - given.float()).abs().max()
    return found if bool(apart <= limit * meant.float().abs().max().clamp(min=1)) else module


def without_norms(module: nn.Module) -> nn.Module:
    """A copy in which every batch norm that alone uses what a convolution gives is part of that convolution."""
    found = copy.deepcopy(module)
    for convolution, norm in _pairs(module):
        before, after = found.get_submodule(convolution), found.get_submodule(norm)
        if isinstance(before, nn.Conv2d) and isinstance(after, nn.BatchNorm2d):  # as _pairs has seen
            found.set_submodule(convolution, fuse_conv_bn_eval(before, after))
            found.set_submodule(norm, nn.Identity())
    return found


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
