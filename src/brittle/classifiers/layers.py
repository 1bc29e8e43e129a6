"""The layers of a torch module: which there are, in the order of computation, and how they are changed for a while.

A layer is a part that computes a tensor by itself, none of whose own parts were called for it. One that is called
several times is several layers: `relu`, `relu#2`, … What does nothing in evaluation mode is left out, and so is what
gives other than one row per image, as parts that work on windows or with the sequence first do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

from brittle.errors import BrittleError
from brittle.types import LayerChange

INPUT, OUTPUT, WEIGHTS = "input", "output", "weights"
IDLE = (nn.Identity, nn.Flatten, _DropoutNd)
CLOSED = (torch.jit.ScriptModule,)  # takes no hooks, so its parts can't be looked at


def traced(module: nn.Module, call: Callable[[], Tensor]) -> tuple[str, ...]:
    """The names of a module's layers, found by one call of it; the last gives the outputs."""
    found: dict[str, int] = {}  # what each gives: so many rows
    calls: Counter[str] = Counter()
    last: list[Tensor] = []

    def record(name: str) -> Callable[[nn.Module, Any, Any], None]:
        def hook(_: nn.Module, __: Any, output: Any) -> None:
            calls[name] += 1
            below = any(each.startswith(f"{name}.") for each in found)
            if isinstance(output, Tensor) and output.is_floating_point() and not below:
                found[name if calls[name] == 1 else f"{name}#{calls[name]}"] = len(output) if output.ndim else 0
                last[:] = [output]

        return hook

    with ExitStack() as hooks:
        for name, part in module.named_modules():
            if name and not isinstance(part, IDLE + CLOSED):
                hooks.callback(part.register_forward_hook(record(name)).remove)
        outputs = call()
    ends_itself = bool(found) and last[0].shape == outputs.shape and torch.equal(last[0].to(outputs), outputs)
    layers = tuple(name for name, rows in found.items() if rows == len(outputs))
    return layers if ends_itself else (*layers, OUTPUT)


@contextmanager
def changed_layer(module: nn.Module, layer: str, change: LayerChange, who: str) -> Iterator[None]:
    """Within it, `change` replaces what the named layer gives in every call of the module."""
    name, _, number = layer.partition("#")
    wanted, seen, reached = int(number or 1), 0, True

    def begin(*_: Any) -> None:
        nonlocal seen, reached
        seen, reached = 0, False

    def hook(_: nn.Module, __: Any, output: Tensor) -> Tensor | None:
        nonlocal seen, reached
        seen += 1
        if seen != wanted:
            return None
        reached = True
        return change(output)

    def end(*_: Any) -> None:
        if not reached:
            raise BrittleError(
                f"the layer {layer!r} of classifier {who} was computed in a first call and not in another",
                "Leave it out: layers that depend on the input can't be compared.",
            )

    with ExitStack() as hooks:
        for handle in (
            module.register_forward_pre_hook(begin),
            module.get_submodule(name).register_forward_hook(hook),
            module.register_forward_hook(end),
        ):
            hooks.callback(handle.remove)
        yield


@contextmanager
def changed_weights(module: nn.Module, change: LayerChange) -> Iterator[None]:
    """Within it the module computes with changed weights, all of them as one row (1, n); then with its own, bit for
    bit. Gradients flow through the change, where there are any."""
    weights = [each for each in dict.fromkeys(module.parameters()) if each.is_floating_point()]
    kept = [each.detach().clone() for each in weights]
    changed = change(torch.cat([each.flatten().float() for each in kept])[None])[0]
    parts = torch.split(changed, [each.numel() for each in kept])
    made = [numbers.view(weight.shape).to(weight.dtype) for weight, numbers in zip(weights, parts, strict=True)]
    if changed.requires_grad:
        with _in_their_places(module, dict(zip(weights, made, strict=True))):
            yield
        return
    try:
        with torch.no_grad():
            for weight, values in zip(weights, made, strict=True):
                weight.copy_(values)
        yield
    finally:
        with torch.no_grad():
            for weight, own in zip(weights, kept, strict=True):
                weight.copy_(own)


@contextmanager
def _in_their_places(module: nn.Module, made: Mapping[nn.Parameter, Tensor]) -> Iterator[None]:
    """Within it, tensors stand where the module's parameters stand: a gradient flows through no parameter's copy."""
    before = [(part, dict(part._parameters)) for part in module.modules()]
    try:
        for part, own in before:
            for name, weight in own.items():
                if weight is not None and weight in made:
                    delattr(part, name)
                    setattr(part, name, made[weight])
        yield
    finally:
        for part, own in before:
            for name, weight in own.items():
                if name not in part._parameters:
                    part.__dict__.pop(name, None)
                    setattr(part, name, weight)
            part._parameters.clear()
            part._parameters.update(own)  # in their order
