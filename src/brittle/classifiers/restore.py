"""A network that is lent to a measurement comes back as it was: mode, device, memory layout, gradients."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from brittle.classifiers.torch_module import TorchClassifier


@contextmanager
def restored_afterwards(classifiers: Iterable[Any]) -> Iterator[None]:
    """Within it, networks among some classifiers, or modules, may be prepared at will; those that are classifiers
    already are ready to be asked, whatever their owner has done to them since they were made."""
    with ExitStack() as stack:
        for each in classifiers:
            module = each.module if isinstance(each, TorchClassifier) else each
            if isinstance(module, nn.Module):
                stack.enter_context(restored_module(module))
            if isinstance(each, TorchClassifier):
                each.prepare()
        yield


@contextmanager
def restored_module(module: nn.Module) -> Iterator[None]:
    """Puts everything back that evaluation mode, another device or another memory layout has changed. Nothing is
    copied: moving a module gives its parameters other values and leaves the old ones to whoever still holds them."""
    parts = [(part, part.training, dict(part._parameters), dict(part._buffers)) for part in module.modules()]
    parameters = [(each, each.data, each.requires_grad, _data(each.grad)) for each in module.parameters()]
    try:
        yield
    finally:
        for part, training, own, buffers in parts:
            part.training = training
            _put_back(part._parameters, own)
            _put_back(part._buffers, buffers)
        for parameter, data, requires_grad, gradient in parameters:
            if not _same(parameter.data, data):
                parameter.data = data
            if parameter.grad is not None and gradient is not None and not _same(parameter.grad.data, gradient):
                parameter.grad.data = gradient
            parameter.requires_grad_(requires_grad)


def _put_back(now: dict[str, Any], before: dict[str, Any]) -> None:
    for name, value in before.items():
        if now[name] is not value:
            now[name] = value


def _data(gradient: Tensor | None) -> Tensor | None:
    return None if gradient is None else gradient.data


def _same(now: Tensor, before: Tensor) -> bool:
    place = now.device == before.device and now.data_ptr() == before.data_ptr()
    return place and now.layout == before.layout == torch.strided and now.stride() == before.stride()
