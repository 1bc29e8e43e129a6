"""What a torch module computes before one of its layers, kept: only what comes after is computed again.

Measures of layers ask about the same images again and again, and change what one layer gives. Everything that ran
before that layer gave its value is the same each time. One call records what parts of the module gave, as large parts
as possible (a whole stage rather than its convolutions); in later calls these parts give what they gave, without
computing it. What happens between parts, such as the addition of a residual connection, is computed as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from brittle.classifiers.layers import CLOSED, OUTPUT


class BeforeLayer(Protocol):
    """What a classifier has computed of some images before one of its layers gives its value."""

    def of(self, rows: Tensor) -> BeforeLayer:
        """The same of a batch of these images, at `rows` (B,)."""
        ...


@runtime_checkable
class Resumable(Protocol):
    """A layered classifier that need not compute again what comes before a layer that is changed."""

    def before(self, layer: str, images: Tensor, size: int, most: int) -> BeforeLayer | None:
        """Of images (M, C, H, W) in [0, 1], computed in batches of one size; None where there is nothing to keep, or
        more numbers than `most`."""
        ...

    def resumed(self, kept: Any) -> AbstractContextManager[None]:
        """Within it, the classifier is asked once, about the batch that `kept` is of."""
        ...


@dataclass
class PartCall:
    """One call of a part of a module."""

    name: str
    within: PartCall | None
    ended: int = -1  # the place among the ends of all calls; −1 where it never ended
    rows: int = -1  # of the tensor that it gave, −1 where that was something else
    numbers: int = 0  # of it, per row

    def kept(self, end: int, rows: int) -> bool:
        """Whether what it gave can stand for it, where all that ends by then is kept."""
        return 0 <= self.ended <= end and self.rows == rows

    def reached(self, end: int, rows: int) -> bool:
        """Whether it is still called, not being inside a call that is kept."""
        return self.within is None or (not self.within.kept(end, rows) and self.within.reached(end, rows))


@dataclass(frozen=True)
class Reuse:
    """Per part of a module, by name, its calls in order: whether what it gave stands for them."""

    calls: Mapping[str, Sequence[bool]]
    numbers: int  # per image, of all that is kept


class Kept(NamedTuple):
    """What parts gave of M images (M, …), call by call; None for calls that are computed."""

    parts: Mapping[str, Sequence[Tensor | None]]

    def of(self, rows: Tensor) -> Kept:
        """For a batch of the images at `rows` (B,)."""
        return Kept({name: [v if v is None else v[rows] for v in values] for name, values in self.parts.items()})


@dataclass
class _Trace:
    open: list[PartCall] = field(default_factory=list)
    calls: list[PartCall] = field(default_factory=list)
    ends: int = 0


def reuse_before(module: nn.Module, layer: str, call: Callable[[], Tensor]) -> Reuse | None:
    """What need not be computed again where a layer of a module is changed, found by one call of it; None where nothing
    is to be saved, or the parts are called in a way that can't be told apart."""
    trace = _Trace()

    def begin(name: str) -> Callable[..., None]:
        def hook(*_: Any) -> None:
            made = PartCall(name, trace.open[-1] if trace.open else None)
            trace.open.append(made)
            trace.calls.append(made)

        return hook

    def end(_: nn.Module, __: Any, output: Any) -> None:
        made = trace.open.pop()
        made.ended, trace.ends = trace.ends, trace.ends + 1
        if isinstance(output, Tensor) and output.ndim:
            made.rows, made.numbers = len(output), output[0].numel() if len(output) else 0

    with ExitStack() as hooks:
        for name, part in _open_parts(module):
            hooks.callback(part.register_forward_pre_hook(begin(name)).remove)
            hooks.callback(part.register_forward_hook(end).remove)
        rows = len(call())
    wanted, _, number = layer.partition("#")
    own = [each for each in trace.calls if each.name == ("" if layer == OUTPUT else wanted)]
    if len(own) < int(number or 1):
        return None
    last, among = own[int(number or 1) - 1], own[: int(number or 1)]
    there = [each for each in trace.calls if each.reached(last.ended, rows)]
    if any(each not in there for each in among):
        return None  # the layer is known by the number of its call, which would be another one
    found: dict[str, list[bool]] = {}
    for each in there:
        found.setdefault(each.name, []).append(each.kept(last.ended, rows))
    numbers = sum(each.numbers for each in there if each.kept(last.ended, rows))
    calls = {name: kept for name, kept in found.items() if any(kept)}
    return Reuse(calls, numbers) if calls else None


def _open_parts(module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Each once, by the first of its names."""
    return ((name, part) for name, part in module.named_modules() if not isinstance(part, CLOSED))


@contextmanager
def recording(module: nn.Module, reuse: Reuse, into: dict[str, list[Tensor | None]]) -> Iterator[None]:
    """Within it, one call of the module puts what is to be kept into a dictionary, copied: what comes after may change
    it in place."""
    with ExitStack() as hooks:
        for name, calls in reuse.calls.items():

            def record(_: nn.Module, __: Any, output: Any, name: str = name, calls: Sequence[bool] = calls) -> None:
                seen = into.setdefault(name, [])
                seen.append(output.detach().clone() if len(seen) < len(calls) and calls[len(seen)] else None)

            hooks.callback(module.get_submodule(name).register_forward_hook(record).remove)
        yield


def joined(parts: Sequence[Mapping[str, Sequence[Tensor | None]]]) -> Kept:
    """What was recorded batch by batch."""
    first = parts[0]
    return Kept(
        {
            name: [
                None if value is None else torch.cat([each for part in parts if (each := part[name][at]) is not None])
                for at, value in enumerate(values)
            ]
            for name, values in first.items()
        }
    )


@contextmanager
def resumed(module: nn.Module, kept: Kept) -> Iterator[None]:
    """Within it, one call of the module with the images that `kept` is of computes nothing that is kept."""
    with ExitStack() as stack:
        for name, values in kept.parts.items():
            part = module.get_submodule(name)
            stack.callback(_put_back, part, part.__dict__.get("forward"))
            part.forward = _Given(part.forward, values)
        yield


def _put_back(part: nn.Module, before: Any) -> None:
    del part.__dict__["forward"]
    if before is not None:
        part.forward = before


class _Given:
    """In place of a part's forward pass: the values that are known, call by call, and otherwise the pass itself."""

    def __init__(self, forward: Callable[..., Any], values: Sequence[Tensor | None]) -> None:
        self.forward, self.values, self.calls = forward, values, 0

    def __call__(self, *given: Any, **named: Any) -> Any:
        value = self.values[self.calls] if self.calls < len(self.values) else None
        self.calls += 1
        return self.forward(*given, **named) if value is None else value
