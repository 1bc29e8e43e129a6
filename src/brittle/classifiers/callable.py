"""Any function images → scores: `python:package.module:function`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

from torch import Tensor

from brittle.classifiers import register
from brittle.classifiers.base import AdaptedClassifier, AdapterOptions, scores_in
from brittle.classifiers.factory import resolve
from brittle.errors import BrittleError
from brittle.registry import option


class CallableClassifier(AdaptedClassifier):
    """A function that takes prepared images, a tensor (B, C, H, W), and returns scores (B, K), a tensor or an array."""

    def __init__(self, function: Callable[[Tensor], Any], *, name: str = "", **settings: Any) -> None:
        super().__init__(name=name or getattr(function, "__name__", type(function).__name__), **settings)
        self.function = function

    def scores(self, prepared: Tensor) -> Tensor:
        return scores_in(self.function(prepared), self.name)


@register("python")
@dataclasses.dataclass(frozen=True, kw_only=True)
class CallableLoader(AdapterOptions):
    """A function images → scores in a module or file."""

    runs_code: ClassVar[bool] = True

    function: str = option(
        dataclasses.MISSING,
        "package.module:name or file.py:name of a function images (B, C, H, W) → scores (B, K)",
        positional=True,
    )

    def load(self, device: str = "cpu") -> CallableClassifier:
        function = resolve(self.function)
        if not callable(function):
            raise BrittleError(
                f"{self.function} is an object of type {type(function).__name__}, not a function",
                "Name a function that takes images (B, C, H, W) and returns scores (B, K).",
            )
        return CallableClassifier(function, name=self.function, device=device, **self.settings())
