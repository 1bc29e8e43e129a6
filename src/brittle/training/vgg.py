"""A small VGG (Simonyan & Zisserman 2015): convolutions 3×3 and pooling, one after another, with no shortcuts."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from brittle.registry import option
from brittle.training import register
from brittle.training.sized import SizedNetwork

LAYERS = (1, 1, 2, 2)  # convolutions between poolings; filters double with each
MOST = 8  # times the first filters


class VGG(nn.Module):
    """Images (B, channels, H, W) in [0, 1], 16 pixels or more per side → logits (B, classes)."""

    def __init__(self, channels: int = 1, classes: int = 10, width: int = 64) -> None:
        super().__init__()
        parts: list[nn.Module] = []
        before = channels
        for stage, count in enumerate(LAYERS):
            after = width * min(MOST, 1 << stage)
            for _ in range(count):
                parts += [nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
                before = after
            parts.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*parts)
        self.classes = nn.Linear(before, classes)

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.classes(self.features(images).mean((2, 3)))
        return logits


@register("small-vgg")
@dataclass(frozen=True, kw_only=True)
class SmallVGG(SizedNetwork):
    """A small VGG (Simonyan & Zisserman 2015) with batch normalisation: six convolutions, four poolings, linear."""

    make = VGG

    side: int = option(28, "pixels per side of the images", least=16)
    width: int = option(64, "filters of the first convolution; they double after each pooling", least=1)

    @property
    def arguments(self) -> dict[str, int]:
        return {"channels": self.channels, "classes": self.classes, "width": self.width}
