"""Graphs: what changes images and what classifies them as functions of tensors, compiled where a run asks for it.

A change and a classifier are a graph each, so that a study with several of both compiles as many graphs as it has of
them together, not one for every pair. Shapes are fixed: whoever asks pads batches to one size.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from types import FunctionType
from typing import Any, TypeVar

import torch
from torch import Tensor

from brittle.measures.outcomes import Outcome, outcome
from brittle.types import Batch, Classifier

Made = tuple[Tensor, Mapping[str, Tensor]]
Classify = Callable[[Tensor, Tensor], Outcome]  # images (B, C, H, W), what is right (B,) → outcomes (B,)
T = TypeVar("T", bound=Callable[..., Any])

BACKEND = "inductor"


class Graphs:
    """The compiled graphs of a run: `log_probs` are those of classifiers that are compiled, by name."""

    def __init__(self, log_probs: Mapping[str, Callable[[Tensor], Tensor]] = {}) -> None:
        self.log_probs = dict(log_probs)
        self._made: dict[Hashable, Any] = {}

    @property
    def active(self) -> bool:
        """Whether anything is compiled, and batches have one size."""
        return bool(self.log_probs)

    def classify(self, name: str, classifier: Classifier) -> Classify:
        """What a classifier says of images, read off."""
        if name not in self.log_probs:
            return lambda images, right: outcome(classifier.log_probs(images), right)
        if name not in self._made:
            log_probs = self.log_probs[name]
            self._made[name] = compiled(lambda images, right: outcome(log_probs(images), right))
        found: Classify = self._made[name]
        return found

    def gather(self, change: Any) -> Callable[[Any, Batch, Tensor, Mapping[str, Tensor]], Made]:
        """Images at some rows, changed."""
        if not self.active or not change.traceable:
            return gathered
        key = (type(change), id(getattr(change, "nuisance", None)))
        if key not in self._made:
            self._made[key] = compiled(gathered)
        found: Callable[[Any, Batch, Tensor, Mapping[str, Tensor]], Made] = self._made[key]
        return found


def gathered(change: Any, batch: Batch, rows: Tensor, at: Mapping[str, Tensor]) -> Made:
    """Batch → its images at `rows` (R,), changed as the values (R, …) of `at` say."""
    made: Made = change.make(batch.take(rows).in_numbers(), at)
    return made


def compiled(function: T) -> T:
    """The function compiled for fixed shapes. Torch counts how often a function's code has been compiled, and gives it
    up after a few: each graph therefore has a code object of its own."""
    assert isinstance(function, FunctionType)
    own = FunctionType(
        function.__code__.replace(), function.__globals__, function.__name__, function.__defaults__,
        function.__closure__,
    )  # fmt: skip
    found: T = torch.compile(own, dynamic=False, backend=BACKEND)  # type: ignore[call-overload]
    return found
