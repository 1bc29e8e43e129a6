"""BagNets (Brendel & Bethge 2019): networks that see an image as a bag of small patches.

A ResNet of bottlenecks whose convolutions are 1×1, except a first one and the first of some stages, which are 3×3: what
each place sees is 9 pixels wide with two such stages, 17 with three, 33 with four. Nothing is padded, and logits are
averaged over places. For small images, patches lie 4 pixels apart, where the authors' lie 8 pixels apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from brittle.registry import option
from brittle.training import register
from brittle.training.sized import SizedNetwork

BLOCKS = 2  # per stage
STRIDES = (2, 2, 1, 1)
WIDER = 4  # what a bottleneck's output has more than its inside


class Bottleneck(nn.Module):
    """relu(x + f(x)), with f a convolution k×k between two 1×1."""

    def __init__(self, before: int, inside: int, kernel: int, stride: int) -> None:
        super().__init__()
        after = inside * WIDER
        self.change = nn.Sequential(
            nn.Conv2d(before, inside, 1, bias=False),
            nn.BatchNorm2d(inside),
            nn.ReLU(),
            nn.Conv2d(inside, inside, kernel, stride, bias=False),
            nn.BatchNorm2d(inside),
            nn.ReLU(),
            nn.Conv2d(inside, after, 1, bias=False),
            nn.BatchNorm2d(after),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride > 1 or before != after:
            self.shortcut = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))
        self.edge = (kernel - 1) // 2

    def forward(self, x: Tensor) -> Tensor:
        changed: Tensor = self.change(x)
        inner = x[:, :, self.edge : x.shape[2] - self.edge, self.edge : x.shape[3] - self.edge]
        return F.relu(self.shortcut(inner) + changed)


class BagNet(nn.Module):
    """Images (B, channels, H, W) in [0, 1] → logits (B, classes), the mean of those of patches."""

    def __init__(self, field: int = 9, channels: int = 1, classes: int = 10, width: int = 64) -> None:
        super().__init__()
        wide = {9: 2, 17: 3}[field]  # stages that begin with a convolution 3×3
        self.first = nn.Sequential(
            nn.Conv2d(channels, width, 3, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
        )
        blocks, before = [], width
        for stage, stride in enumerate(STRIDES):
            inside = width << stage
            for place in range(BLOCKS):
                kernel = 3 if stage < wide and not place else 1
                blocks.append(Bottleneck(before, inside, kernel, 1 if place else stride))
                before = inside * WIDER
        self.blocks = nn.Sequential(*blocks)
        self.classes = nn.Linear(before, classes)

    def patches(self, images: Tensor) -> Tensor:
        """The logits of each patch (B, h, w, classes)."""
        logits: Tensor = self.classes(self.blocks(self.first(images)).permute(0, 2, 3, 1))
        return logits

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.classes(self.blocks(self.first(images)).mean((2, 3)))
        return logits


@dataclass(frozen=True, kw_only=True)
class SizedBagNet(SizedNetwork):
    make = BagNet
    field: ClassVar[int]

    width: int = option(
        64, "filters inside the bottlenecks of the first stage; it doubles with each of the four", least=1
    )

    @property
    def arguments(self) -> dict[str, int]:
        return {"field": self.field, "channels": self.channels, "classes": self.classes, "width": self.width}


@register("bagnet-9")
@dataclass(frozen=True, kw_only=True)
class BagNet9(SizedBagNet):
    """BagNet-9 (Brendel & Bethge 2019) for small images: the mean of what patches of 9×9 pixels say."""

    field = 9

    side: int = option(28, "pixels per side of the images", least=9)


@register("bagnet-17")
@dataclass(frozen=True, kw_only=True)
class BagNet17(SizedBagNet):
    """BagNet-17 (Brendel & Bethge 2019) for small images: the mean of what patches of 17×17 pixels say."""

    field = 17

    side: int = option(28, "pixels per side of the images", least=17)
