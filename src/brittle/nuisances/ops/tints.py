"""Colours of light and air, and their brightness for images without colour."""

from __future__ import annotations

from torch import Tensor

from brittle.constants import constant

Colour = tuple[float, float, float]

LUMA: Colour = (0.299, 0.587, 0.114)


def grey(images: Tensor) -> Tensor:
    """images (B, C, H, W) → brightness (B, 1, H, W); the mean if the channels are not red, green and blue."""
    if images.shape[1] != 3:
        return images.mean(1, keepdim=True)
    return (images[:, 0:1] * LUMA[0]).add_(images[:, 1:2], alpha=LUMA[1]).add_(images[:, 2:3], alpha=LUMA[2])


def tint(colour: Colour, images: Tensor) -> Tensor:
    """A colour (1, C, 1, 1) for these images; its brightness if they have no colour."""
    if images.shape[1] == 3:
        return constant(colour, images.device, images.dtype)[None, :, None, None]
    return images.new_full((1, images.shape[1], 1, 1), sum(c * w for c, w in zip(colour, LUMA, strict=True)))
