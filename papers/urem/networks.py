"""Networks for FashionMNIST whose depth and number of parameters are chosen apart.

    brittle break torch:papers/urem/networks.py:d4_100k,weights=FILE …

A network has `depth` convolutions 3×3 of one width, each with batch normalisation and ReLU; images are halved after one
half of them and after the other, then averaged down to 3×3 places, from which a linear layer reads the classes. The
width is the one that brings the number of parameters nearest to the budget. With skip connections (s4_100k in place of
d4_100k) each convolution but the first, with what follows it, is added to what it was given: the same layers and
parameters, and nothing else is different.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from brittle.registry import option
from brittle.training.augmentation import Transform
from brittle.training.options import Recipe

DEPTHS, DEEPEST = (2, 4, 8), 16  # of the grid; the last only beside networks with skip connections
BUDGETS = (20_000, 100_000, 500_000)
CLASSES = 10
PLACES = 3 * 3
_NAME = re.compile(r"([ds])(\d+)_(\d+)k(?:_of_(\d+))?")


class Skip(nn.Sequential):
    """Layers whose output is added to what they are given."""

    def forward(self, given: Tensor) -> Tensor:
        added: Tensor = given + super().forward(given)
        return added


class PlainNet(nn.Module):
    """Images (B, 1, 28, 28) in [0, 1] → logits (B, classes)."""

    def __init__(self, depth: int, width: int, classes: int, skips: bool = False) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for place in range(depth):
            convolution = nn.Conv2d(width if place else 1, width, 3, padding=1, bias=False)
            block = [convolution, nn.BatchNorm2d(width), nn.ReLU()]
            layers += [Skip(*block)] if skips and place else block
            if place + 1 in (depth // 2, depth):
                layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers, nn.AvgPool2d(3, 2), nn.Flatten())
        self.classes = nn.Linear(PLACES * width, classes)

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.classes(self.features(images))
        return logits


def parameters(depth: int, width: int, classes: int = CLASSES) -> int:
    """How many a network has."""
    convolutions = 9 * width + (depth - 1) * 9 * width**2
    return convolutions + 2 * width * depth + (PLACES * width + 1) * classes


def width_for(depth: int, budget: int) -> int:
    """The width that brings the parameters of ten classes nearest to the budget."""
    return min(range(1, 1000), key=lambda width: abs(parameters(depth, width) - budget))


def name_of(depth: int, budget: int, classes: int = CLASSES, skips: bool = False) -> str:
    return f"{'s' if skips else 'd'}{depth}_{budget // 1000}k" + ("" if classes == CLASSES else f"_of_{classes}")


def __getattr__(name: str) -> Callable[[], PlainNet]:
    """A function without arguments that makes the network of a name, such as d8_500k, s8_500k or d4_100k_of_3."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise AttributeError(name)
    depth, thousands, classes = int(found[2]), int(found[3]), int(found[4] or CLASSES)
    return lambda: PlainNet(depth, width_for(depth, 1000 * thousands), classes, found[1] == "s")


@dataclass(frozen=True)
class Plain:
    """What `brittle.training.train` needs to know of such a network."""

    shape: ClassVar[tuple[int, int, int]] = (1, 28, 28)
    recipe: ClassVar[Recipe] = Recipe(
        epochs=10, batch=256, rate=3e-3, optimiser="adamw", decay=0.05, schedule="cosine", warm_up=0.2
    )
    capture: ClassVar[bool] = True

    depth: int = option(4, "convolutions", least=2)
    budget: int = option(100_000, "parameters, about", least=1000)
    classes: int = option(CLASSES, "how many it tells apart", least=2)
    skips: bool = option(False, "whether it has skip connections")

    @property
    def factory(self) -> str:
        return f"{__file__}:{name_of(self.depth, self.budget, self.classes, self.skips)}"

    def module(self) -> nn.Module:
        return PlainNet(self.depth, width_for(self.depth, self.budget), self.classes, self.skips)

    def transform(self) -> Transform | None:
        return None
