"""PreAct-ResNet-18 (He et al. 2016, "Identity mappings in deep residual networks") for small images.

As is usual for images of 32×32, a convolution 3×3 stands in place of ImageNet's 7×7 with stride 2 and pooling.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from brittle.registry import option
from brittle.training import register
from brittle.training.sized import SizedNetwork

BLOCKS = 2  # per stage
STAGES = 4


class PreActBlock(nn.Module):
    """x + f(x), with normalisation and ReLU before each of f's two convolutions."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(before), nn.BatchNorm2d(after)
        self.conv1 = nn.Conv2d(before, after, 3, stride, padding=1, bias=False)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        changes = stride > 1 or before != after
        self.shortcut = nn.Conv2d(before, after, 1, stride, bias=False) if changes else None

    def forward(self, x: Tensor) -> Tensor:
        active = F.relu(self.norm1(x))
        kept = x if self.shortcut is None else self.shortcut(active)
        changed: Tensor = self.conv2(F.relu(self.norm2(self.conv1(active))))
        return kept + changed


class PreActResNet(nn.Module):
    """Images (B, channels, H, W) in [0, 1] → logits (B, classes)."""

    def __init__(self, channels: int = 1, classes: int = 10, width: int = 64) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, width, 3, padding=1, bias=False)
        blocks, before = [], width
        for stage in range(STAGES):
            after = width << stage
            for place in range(BLOCKS):
                blocks.append(PreActBlock(before, after, 2 if stage and not place else 1))
                before = after
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.BatchNorm2d(before)
        self.classes = nn.Linear(before, classes)

    def forward(self, images: Tensor) -> Tensor:
        features = F.relu(self.norm(self.blocks(self.first(images))))
        logits: Tensor = self.classes(features.mean((2, 3)))
        return logits


@register("preact-resnet-18")
@dataclass(frozen=True, kw_only=True)
class PreActResNet18(SizedNetwork):
    """PreAct-ResNet-18 (He et al. 2016) for small images: a convolution 3×3, then four stages of two blocks each."""

    make = PreActResNet

    width: int = option(64, "filters of the first stage; it doubles with each of the four", least=1)

    @property
    def arguments(self) -> dict[str, int]:
        return {"channels": self.channels, "classes": self.classes, "width": self.width}
