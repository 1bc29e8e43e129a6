"""How a network is trained: a network's own recipe, and what a user says instead."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from brittle.registry.options import option, validated

Optimiser = Literal["sgd", "adamw"]
Schedule = Literal["constant", "cosine"]
Precision = Literal["float32", "bfloat16"]

RATES: dict[str, Any] = {"above": 0, "most": 1e6, "flag": "lr"}


@validated("recipe")
@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a network is trained."""

    epochs: int = option(50, "how often every image is seen", least=1)
    batch: int = option(128, "images per step", least=1)
    rate: float = option(0.05, "peak learning rate", **RATES)
    optimiser: Optimiser = option("sgd", "sgd (with momentum) or adamw")
    momentum: float = option(0.9, "momentum of sgd", least=0, below=1)
    decay: float = option(0.0, "weight decay", least=0)
    schedule: Schedule = option("constant", "learning rate schedule: constant, or cosine down to 0")
    warm_up: float = option(0.0, "share of training during which the learning rate rises to its peak", least=0, below=1)
    precision: Precision = option("float32", "precision of forward and backward passes; weights are float32")

    def rate_at(self, done: float) -> float:
        """The learning rate after a share `done` of training."""
        if done < self.warm_up:
            return self.rate * done / self.warm_up
        if self.schedule == "constant":
            return self.rate
        return self.rate * 0.5 * (1 + math.cos(math.pi * (done - self.warm_up) / (1 - self.warm_up)))


@validated("train")
@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """What a user may say about a training; the network's own recipe says the rest."""

    epochs: int | None = option(None, "how often every image is seen", least=1)
    batch_size: int | None = option(None, "images per step", least=1)
    rate: float | None = option(None, "learning rate", **RATES)
    precision: Precision | None = option(None, "float32, or bfloat16 for large networks on a GPU; weights stay float32")

    def changed(self, recipe: Recipe) -> Recipe:
        """The recipe with what was said."""
        said: dict[str, Any] = {"epochs": self.epochs, "batch": self.batch_size, "rate": self.rate}
        said |= {"precision": self.precision}
        return replace(recipe, **{key: value for key, value in said.items() if value is not None})
