"""Networks for images of any size, number of channels and number of classes, which are options of their specs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from brittle.registry import option
from brittle.registry.spec import written
from brittle.training.augmentation import Transform
from brittle.training.options import Recipe

# Marcu & Prügel-Bennett 2022, appendix A; weight decay from the code of Harris et al. (2020), where theirs comes from.
PAPER = Recipe(epochs=200, batch=128, rate=0.1, momentum=0.9, decay=1e-4, schedule="step")


@dataclass(frozen=True, kw_only=True)
class SizedNetwork(ABC):
    """A network whose module takes its options, all but `side`, as arguments: it averages over places at its end."""

    make: ClassVar[Callable[..., nn.Module]]
    recipe: ClassVar[Recipe] = PAPER
    capture: ClassVar[bool] = True

    channels: int = option(1, "channels of the images: 1 for grey, 3 for colour", least=1)
    side: int = option(28, "pixels per side of the images", least=1)
    classes: int = option(10, "how many it tells apart", least=2)

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.channels, self.side, self.side

    @property
    @abstractmethod
    def arguments(self) -> dict[str, int]:
        """What the module is made with."""

    @property
    def factory(self) -> str:
        made = type(self).make
        arguments = "/".join(f"{name}={written(value)}" for name, value in self.arguments.items())
        return f"{made.__module__}:{made.__name__},arguments={arguments}"

    def module(self) -> nn.Module:
        return type(self).make(**self.arguments)

    def transform(self) -> Transform | None:
        return None
