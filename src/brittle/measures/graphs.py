"""Graphs: what changes images and what classifies them as functions of tensors, compiled where a run asks for it.

A change and a classifier are a graph each: a study with several of both compiles as many graphs as it has of them
together, not one for every pair, and what is made of an image is still made once for all classifiers. Shapes are fixed,
so batches of other sizes than those of the run take the plain way.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType
from typing import Any, TypeVar

import torch
from torch import Tensor

from brittle.measures.outcomes import Outcome, outcome
from brittle.types import Batch, Classifier

Made = tuple[Tensor, Mapping[str, Tensor]]
At = Mapping[str, Tensor]
Changing = Callable[[Any, Batch, At], Made]
Classify = Callable[[Tensor, Tensor], Outcome]
F = TypeVar("F", bound=Callable[..., Any])

BACKEND = "inductor"


class Graphs:
    """The compiled graphs of a run. `log_probs` are those of the classifiers that are compiled, by name; none are
    made, of changes neither, where there are none."""

    def __init__(self, log_probs: Mapping[str, Callable[[Tensor], Tensor]] = {}) -> None:
        self._classify: dict[str, Classify] = {name: _classifying(each) for name, each in log_probs.items()}
        self._change: dict[Hashable, Changing] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._classify

    def classified(self, name: str, classifier: Classifier, images: Tensor, right: Tensor, *, fits: bool) -> Outcome:
        """What a classifier says of images (B, C, H, W), set against what is `right` (B,); by its graph where there is
        one and the batch `fits` it."""
        if fits and name in self._classify:
            return self._classify[name](images, right)
        return outcome(classifier.log_probs(images), right)

    def changed(self, change: Any, batch: Batch, at: At, *, fits: bool) -> Made:
        """Images of a batch changed, each as the values (B, …) of `at` say."""
        if not (fits and self._classify and change.traceable):
            return change_in_numbers(change, batch, at)
        key = (type(change), id(getattr(change, "nuisance", None)))
        if key not in self._change:
            self._change[key] = _graph_or_plain(change, batch, at)
        return self._change[key](change, batch, at)


def change_in_numbers(change: Any, batch: Batch, at: At) -> Made:
    made: Made = change.make(batch.in_numbers(), at)
    return made


def _graph_or_plain(change: Any, batch: Batch, at: At) -> Changing:
    """A graph, if torch can make one of all that is done; whether it can follows from the code alone."""
    from torch._dynamo.exc import TorchDynamoException  # a second of imports

    graph = compiled(change_in_numbers)
    try:
        with untold():
            graph(change, batch, at)
    except TorchDynamoException:
        return change_in_numbers
    return graph


def _classifying(log_probs: Callable[[Tensor], Tensor]) -> Classify:
    return compiled(lambda images, right: outcome(log_probs(images), right))


def compiled(function: F) -> F:
    """The function compiled for fixed shapes. Torch counts how often the code of a function has been compiled, and
    gives it up after a few times: each graph has a code object of its own."""
    assert isinstance(function, FunctionType)
    own = FunctionType(
        function.__code__.replace(), function.__globals__, closure=function.__closure__, argdefs=function.__defaults__
    )
    own.__kwdefaults__ = function.__kwdefaults__
    found: F = torch.compile(own, fullgraph=True, dynamic=False, backend=BACKEND)  # type: ignore[assignment]
    return found


@contextmanager
def untold() -> Iterator[None]:
    """Without torch's warnings of caches that it looks behind while it traces: they hold what follows from numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield
