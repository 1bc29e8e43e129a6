"""The architectures of appendix B.8 that Brittle itself does not train: WideResNet, DenseNet-BC and PyramidNet.

    brittle interfere torch:papers/marcu2022/deep.py:wide_resnet_28_10,weights=FILE …

All are for small images: a convolution 3×3 first, three stages, the second and third at half the side of the one
before, then a mean over places and a linear layer. WideResNet-28-10 (Zagoruyko & Komodakis 2016) and DenseNet-BC-190
(Huang et al. 2017), with growth 40, are the paper's. It does not say which PyramidNet (Han et al. 2017) it means: here
that of 110 layers whose filters grow by 270.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from brittle.registry import option
from brittle.training.augmentation import Transform
from brittle.training.options import Recipe
from brittle.training.sized import PAPER

STAGES = 3
CLASSES = 10


class Activated(nn.Sequential):
    """Normalisation and ReLU before a convolution k×k."""

    def __init__(self, before: int, after: int, kernel: int, stride: int = 1) -> None:
        padding = kernel // 2
        convolution = nn.Conv2d(before, after, kernel, stride, padding=padding, bias=False)
        super().__init__(nn.BatchNorm2d(before), nn.ReLU(), convolution)


class WideBlock(nn.Module):
    """x + f(x), as in PreAct-ResNet: where filters or the side change, the shortcut is a convolution 1×1."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.ready = nn.Sequential(nn.BatchNorm2d(before), nn.ReLU())
        self.change = nn.Sequential(
            nn.Conv2d(before, after, 3, stride, padding=1, bias=False), Activated(after, after, 3)
        )
        changes = stride > 1 or before != after
        self.shortcut = nn.Conv2d(before, after, 1, stride, bias=False) if changes else None

    def forward(self, x: Tensor) -> Tensor:
        ready = self.ready(x)
        changed: Tensor = self.change(ready)
        return changed + (x if self.shortcut is None else self.shortcut(ready))


class DenseLayer(nn.Module):
    """What it is given, and beside it `growth` new channels: 1×1 to four times as many, then 3×3."""

    def __init__(self, before: int, growth: int) -> None:
        super().__init__()
        self.new = nn.Sequential(Activated(before, 4 * growth, 1), Activated(4 * growth, growth, 3))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.new(x)], 1)


class PyramidBlock(nn.Module):
    """x + f(x) whose filters grow block by block; the shortcut is padded by zeros and has no weights."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.change = nn.Sequential(
            nn.BatchNorm2d(before),
            nn.Conv2d(before, after, 3, stride, padding=1, bias=False),
            Activated(after, after, 3),
            nn.BatchNorm2d(after),
        )
        self.stride, self.added = stride, after - before

    def forward(self, x: Tensor) -> Tensor:
        kept = F.avg_pool2d(x, self.stride, ceil_mode=True) if self.stride > 1 else x
        changed: Tensor = self.change(x)
        return changed + F.pad(kept, (0, 0, 0, 0, 0, self.added))


class Staged(nn.Module):
    """Images (B, 1, H, W) in [0, 1] → logits (B, classes)."""

    def __init__(self, first: int, blocks: list[nn.Module], last: int, classes: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, first, 3, padding=1, bias=False)
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.BatchNorm2d(last)
        self.classes = nn.Linear(last, classes)

    def forward(self, images: Tensor) -> Tensor:
        features = F.relu(self.norm(self.blocks(self.first(images))))
        logits: Tensor = self.classes(features.mean((2, 3)))
        return logits


def _stride(stage: int, place: int) -> int:
    return 2 if stage and not place else 1


def wide_resnet(depth: int, widen: int, classes: int = CLASSES) -> Staged:
    """WideResNet of so many layers, whose stages have 16, 32 and 64 times `widen` filters."""
    blocks: list[nn.Module] = []
    before = 16
    for stage in range(STAGES):
        after = 16 * widen << stage
        for place in range((depth - 4) // 6):
            blocks.append(WideBlock(before, after, _stride(stage, place)))
            before = after
    return Staged(16, blocks, before, classes)


def dense_net(depth: int, growth: int, classes: int = CLASSES) -> Staged:
    """DenseNet-BC: between stages, channels and side are halved."""
    blocks: list[nn.Module] = []
    channels = 2 * growth
    for stage in range(STAGES):
        if stage:
            blocks.append(nn.Sequential(Activated(channels, channels // 2, 1), nn.AvgPool2d(2)))
            channels //= 2
        for _ in range((depth - 4) // 6):
            blocks.append(DenseLayer(channels, growth))
            channels += growth
    return Staged(2 * growth, blocks, channels, classes)


def pyramid_net(depth: int, growth: int, classes: int = CLASSES) -> Staged:
    """PyramidNet: 16 filters at first, `growth` more at the end, in equal steps."""
    each = (depth - 2) // 6
    filters = [round(16 + growth * done / (STAGES * each)) for done in range(STAGES * each + 1)]
    blocks: list[nn.Module] = [
        PyramidBlock(filters[place], filters[place + 1], _stride(*divmod(place, each)))
        for place in range(STAGES * each)
    ]
    return Staged(16, blocks, filters[-1], classes)


# Functions without arguments, for specs; the second three are for seeing that it works.
def wide_resnet_28_10() -> Staged:
    return wide_resnet(28, 10)


def dense_net_190_40() -> Staged:
    return dense_net(190, 40)


def pyramid_net_110_270() -> Staged:
    return pyramid_net(110, 270)


def wide_resnet_10_1() -> Staged:
    return wide_resnet(10, 1)


def dense_net_10_4() -> Staged:
    return dense_net(10, 4)


def pyramid_net_8_8() -> Staged:
    return pyramid_net(8, 8)


MADE: dict[str, Callable[[], Staged]] = {
    "wide-resnet-28-10": wide_resnet_28_10,
    "densenet-bc-190-40": dense_net_190_40,
    "pyramidnet-110-270": pyramid_net_110_270,
    "wide-resnet-10-1": wide_resnet_10_1,
    "densenet-bc-10-4": dense_net_10_4,
    "pyramidnet-8-8": pyramid_net_8_8,
}
NAMES = tuple(MADE)[:STAGES]
SMALLEST = dict(zip(NAMES, tuple(MADE)[STAGES:], strict=True))


@dataclass(frozen=True)
class Deep:
    """What `brittle.training.train` needs to know of such a network."""

    shape: ClassVar[tuple[int, int, int]] = (1, 28, 28)
    classes: ClassVar[int] = CLASSES
    recipe: ClassVar[Recipe] = PAPER
    capture: ClassVar[bool] = True

    name: str = option("wide-resnet-28-10", "which network")

    @property
    def factory(self) -> str:
        return f"{__file__}:{MADE[self.name].__name__}"

    def module(self) -> nn.Module:
        return MADE[self.name]()

    def transform(self) -> Transform | None:
        return None
