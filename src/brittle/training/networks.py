"""The networks of Fawzi & Frossard 2016, Table 1: two CNNs for MNIST, each plain, with dropout, with data augmentation
and with a spatial transformer.

The paper does not give the sizes and numbers of filters, neither for the classifiers nor for the localisation network.
The classifiers here are conv 5×5×32 – pool [– conv 5×5×64 – pool] – linear, and the localisation network is the one of
Jaderberg et al. (2015) for MNIST, two convolutions of 20 filters. Nor does it say how far samples are translated
(`shift`), or how the networks are trained, except for 50 epochs: here with the settings of Caffe's MNIST example,
which were common in 2016.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from brittle.nuisances.ops.translate import translate
from brittle.nuisances.ops.warp import warp
from brittle.random import uniform
from brittle.registry import option
from brittle.training import register
from brittle.training.augmentation import Transform
from brittle.training.options import Recipe
from brittle.types import Batch

FILTERS = (32, 64)
CLASSES = 10
SIDE = 28
USUAL = Recipe(rate=0.01, momentum=0.9, decay=5e-4)
GENTLE = replace(USUAL, rate=0.002)  # a spatial transformer learns worse at the rates that suit the others


class SpatialTransformer(nn.Module):
    """Warps each of the images (B, 1, 28, 28) by an affine map that it predicts, initially the identity."""

    def __init__(self) -> None:
        super().__init__()
        last = nn.Linear(20 * (SIDE // 4) ** 2, 6)
        nn.init.zeros_(last.weight)
        with torch.no_grad():
            last.bias.copy_(torch.eye(2, 3).flatten())
        self.localisation = nn.Sequential(*_convolutions((20, 20)), nn.Flatten(), last)

    def matrices(self, images: Tensor) -> Tensor:
        """[A | t] (B, 2, 3): an output pixel at u takes its value from A u + t."""
        found: Tensor = self.localisation(images).float()
        return found.view(-1, 2, 3)

    def forward(self, images: Tensor) -> Tensor:
        return warp(images, self.matrices(images))


class CNN(nn.Module):
    """Images (B, 1, 28, 28) in [0, 1] → logits (B, 10)."""

    def __init__(self, layers: int, dropout: float = 0.0, transformer: bool = False) -> None:
        super().__init__()
        self.transformer = SpatialTransformer() if transformer else nn.Identity()
        self.features = nn.Sequential(*_convolutions(FILTERS[:layers]), nn.Flatten())
        self.dropout = nn.Dropout(dropout)
        self.classes = nn.Linear(FILTERS[layers - 1] * (SIDE >> layers) ** 2, CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.classes(self.dropout(self.features(self.transformer(images))))
        return logits


def _convolutions(filters: tuple[int, ...]) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for before, after in zip((1, *filters), filters, strict=False):
        layers += [nn.Conv2d(before, after, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)]
    return layers


def translated(batch: Batch, keys: Tensor, share: float, shift: int) -> Batch:
    """A random `share` of the images moved by whole pixels, up to `shift` each way; the others unchanged."""
    draws = uniform(keys, 3)
    steps = (draws[:, 1:] * (2 * shift + 1)).floor() - shift
    steps = torch.where(draws[:, :1] < share, steps, 0.0)
    return batch._replace(images=translate(batch.images, steps.to(batch.images.dtype)))


# Functions without arguments, for specs such as `torch:brittle.training.networks:cnn_2_stn,weights=…`.
def cnn_1() -> CNN:
    return CNN(1)


def cnn_1_dropout() -> CNN:
    return CNN(1, dropout=0.5)


def cnn_1_da() -> CNN:
    return CNN(1)


def cnn_1_stn() -> CNN:
    return CNN(1, transformer=True)


def cnn_2() -> CNN:
    return CNN(2)


def cnn_2_dropout() -> CNN:
    return CNN(2, dropout=0.5)


def cnn_2_da() -> CNN:
    return CNN(2)


def cnn_2_stn() -> CNN:
    return CNN(2, transformer=True)


@dataclass(frozen=True)
class PaperNetwork:
    """One of the table's networks, trained on unchanged images."""

    make: ClassVar[Callable[[], CNN]]
    shape: ClassVar[tuple[int, int, int]] = (1, SIDE, SIDE)
    classes: ClassVar[int] = CLASSES
    recipe: ClassVar[Recipe] = USUAL
    capture: ClassVar[bool] = True

    @property
    def factory(self) -> str:
        return f"{__name__}:{type(self).make.__name__}"

    def module(self) -> nn.Module:
        return type(self).make()

    def transform(self) -> Transform | None:
        return None


@dataclass(frozen=True)
class AugmentedNetwork(PaperNetwork):
    """One of the table's networks, trained on images some of which are translated, different ones in every epoch."""

    translated: float = option(0.1, "share of the training images that are translated", least=0, most=1)
    shift: int = option(3, "how far, up to this many pixels each way", least=0)

    def transform(self) -> Transform:
        return lambda batch, keys: translated(batch, keys, self.translated, self.shift)


def _register(
    name: str, make: Callable[[], CNN], about: str, kind: type[PaperNetwork] = PaperNetwork, recipe: Recipe = USUAL
) -> None:
    """Registers one of the table's networks as a class of its own, like everything that is registered."""
    members = {"make": staticmethod(make), "recipe": recipe, "__doc__": about, "__module__": __name__}
    register(name)(dataclass(frozen=True)(type(make.__name__, (kind,), members)))


_register("cnn-1", cnn_1, "CNN-1: conv 5×5×32 – pool – linear.")
_register("cnn-1-dropout", cnn_1_dropout, "CNN-1 with dropout of 0.5 before its linear layer.")
_register("cnn-1-da", cnn_1_da, "CNN-1, with some of its training images translated.", AugmentedNetwork)
_register(
    "cnn-1-stn", cnn_1_stn, "CNN-1 behind a spatial transformer, trained like cnn-1-da.", AugmentedNetwork, GENTLE
)
_register("cnn-2", cnn_2, "CNN-2: conv 5×5×32 – pool – conv 5×5×64 – pool – linear.")
_register("cnn-2-dropout", cnn_2_dropout, "CNN-2 with dropout of 0.5 before its linear layer.")
_register("cnn-2-da", cnn_2_da, "CNN-2, with some of its training images translated.", AugmentedNetwork)
_register(
    "cnn-2-stn", cnn_2_stn, "CNN-2 behind a spatial transformer, trained like cnn-2-da.", AugmentedNetwork, GENTLE
)
