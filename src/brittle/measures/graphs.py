"""Graphs: what changes images and what classifies them as functions of tensors, compiled where a run asks for it.

A change and a classifier are a graph each: a study with several of both compiles as many graphs as it has of them
together, not one for every pair, and what is made of an image is still made once for all classifiers. Shapes are fixed,
so batches of other sizes than those of the run take the plain way. A process keeps what it has compiled: weights, θ and
keys are values that graphs are given, so that the next run with the same network and nuisance compiles nothing.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from brittle.measures.outcomes import Outcome, outcome
from brittle.types import Batch, Classifier, Graph

Made = tuple[Tensor, Mapping[str, Tensor]]
At = Mapping[str, Tensor]
F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

BACKEND = "inductor"
KEPT = 64  # compiled functions


class Graphs:
    """The graphs of a run: those of the classifiers that are compiled, by name. Of changes there are none where there
    are none of classifiers that torch compiles."""

    def __init__(self, of_classifiers: Mapping[str, Graph] = {}) -> None:
        self._classifiers = of_classifiers
        self._compiles = any(each.traceable for each in of_classifiers.values())

    def __contains__(self, name: str) -> bool:
        return name in self._classifiers

    def classified(self, name: str, classifier: Classifier, images: Tensor, right: Tensor, *, fits: bool) -> Outcome:
        """What a classifier says of images (B, C, H, W), set against what is `right` (B,); by its graph where there is
        one and the batch `fits` it."""
        if fits and name in self._classifiers:
            graph = self._classifiers[name]
            if not graph.traceable:
                return _classified(graph, images, right)
            return _COMPILED.carried_out(_classified, (graph.structure, images.shape), graph, images, right)
        return outcome(classifier.log_probs(images), right)

    def changed(self, change: Any, batch: Batch, at: At, *, fits: bool) -> Made:
        """Images of a batch changed, each as the values (B, …) of `at` say."""
        if fits and self._compiles and change.traceable:
            fixed = (_ByValue(each) for each in vars(change).values() if not isinstance(each, Tensor))
            key = (type(change), *fixed, batch.images.shape, batch.images.dtype)
            return _COMPILED.carried_out(change_in_numbers, key, change, batch, at, instead=True)
        return change_in_numbers(change, batch, at)


def change_in_numbers(change: Any, batch: Batch, at: At) -> Made:
    made: Made = change.make(batch.in_numbers(), at)
    return made


def _classified(graph: Graph, images: Tensor, right: Tensor) -> Outcome:
    return outcome(graph(images), right)


class _ByValue:
    """A nuisance, say, as part of a key: by its value, or as the object that it is where that can't be hashed."""

    def __init__(self, what: Any) -> None:
        self.what = what
        try:
            self.hash, self.hashable = hash(what), True
        except TypeError:
            self.hash, self.hashable = id(what), False

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _ByValue):
            return False
        return self.what is other.what or (self.hashable and other.hashable and bool(self.what == other.what))


class CompiledFunctions:
    """What a process has compiled, the last ones used. Torch itself looks whether one still fits what it is given, and
    compiles again where it does not."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._kept: OrderedDict[Hashable, Callable[..., Any]] = OrderedDict()

    def carried_out(self, function: Callable[..., T], key: Hashable, *values: Any, instead: bool = False) -> T:
        """function(*values) as a graph; `instead`, as it is where torch can't make a graph of all that it does:
        whether it can follows from the code alone."""
        from torch._dynamo.exc import FailOnRecompileLimitHit, TorchDynamoException  # a second of imports

        whole = (function, BACKEND, key)
        known = whole in self._kept
        if not known:
            self._keep(whole, compiled(function))
        self._kept.move_to_end(whole)
        if known:
            try:
                return cast(T, self._kept[whole](*values))
            except FailOnRecompileLimitHit:  # many networks of one structure that differ in what torch takes as fixed
                self._keep(whole, compiled(function))
        try:
            with untold():
                return cast(T, self._kept[whole](*values))
        except TorchDynamoException:
            if not instead:
                del self._kept[whole]
                raise
            self._kept[whole] = function
        return function(*values)

    def _keep(self, key: Hashable, function: Callable[..., Any]) -> None:
        self._kept[key] = function
        if len(self._kept) > self.most:
            self._kept.popitem(last=False)


_COMPILED = CompiledFunctions(KEPT)


def compiled(function: F) -> F:
    """The function compiled for fixed shapes. Torch counts how often the code of a function has been compiled, and
    gives it up after a few times: each graph has a code object of its own."""
    assert isinstance(function, FunctionType)
    own = FunctionType(
        function.__code__.replace(), function.__globals__, closure=function.__closure__, argdefs=function.__defaults__
    )
    own.__kwdefaults__ = function.__kwdefaults__
    how: dict[str, Any] = {"backend": BACKEND}
    if BACKEND == "inductor":
        how["options"] = _options()
    found: F = torch.compile(own, fullgraph=True, dynamic=False, **how)  # type: ignore[assignment]
    return found


def _options() -> dict[str, Any]:
    """Kernels are chosen by what they do and never by a clock, so that every process computes the same."""
    return {"deterministic": True} if "deterministic" in torch._inductor.list_options() else {}


@contextmanager
def untold() -> Iterator[None]:
    """Without torch's warnings of caches that it looks behind while it traces: they hold what follows from numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield
