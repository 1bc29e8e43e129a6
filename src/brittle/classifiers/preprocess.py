"""What a classifier does to images in [0, 1] first: channels, size, crop, value range, mean and std, layout.

Resizing is antialiased, as in PIL and torchvision. Everything is differentiable.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from brittle.constants import constant
from brittle.errors import BrittleError
from brittle.registry import option, validated

LARGEST_SIDE = 4096  # of what a classifier takes: 200 MB per image in three channels
ITU_R_601 = (0.299, 0.587, 0.114)


@validated("classifier")
@dataclasses.dataclass(frozen=True, kw_only=True)
class Preprocess:
    """images (B, C, H, W) in [0, 1] → what the classifier takes. Without options it returns its input unchanged."""

    size: int | str | tuple[int, int] | None = option(
        None,
        "resize the shorter side to this many pixels, or to exactly HxW",
        least=1,
        most=LARGEST_SIDE,
        remedy="Write size=224 (shorter side) or size=224x320 (HxW).",
    )
    crop: int | None = option(None, "then crop the central square of this many pixels", least=1, most=LARGEST_SIDE)
    interpolation: Literal["bilinear", "bicubic"] = option("bilinear", "how to resize: bilinear or bicubic")
    channels: Literal["rgb", "bgr", "grey"] | None = option(
        None, "rgb or bgr (grey images are repeated), or grey (colours weighted as in ITU-R 601)"
    )
    range: float = option(1.0, "multiply values in [0, 1] by this, such as 255, before mean and std")
    mean: float | tuple[float, ...] | None = option(None, "subtract this after range: one number, or a/b/c per channel")
    std: float | tuple[float, ...] | None = option(None, "divide by this after mean: one number, or a/b/c per channel")
    layout: Literal["nchw", "nhwc"] | None = option(
        None, "order of the dimensions: nchw or nhwc; by default nchw, or what the ONNX file says"
    )

    def __post_init__(self) -> None:
        exact_size(self.size)
        if 0.0 in _numbers(self.std, 1.0):
            raise BrittleError("std=0 divides by zero", "Leave a channel as it is with std 1.")

    def __call__(self, images: Tensor) -> Tensor:
        if self.channels == "grey":
            images = _grey(images)
        if self.size is not None:
            images = _resize(images, self.size, self.interpolation)
        if self.crop is not None:
            images = _centre(images, self.crop)
        if self.channels == "rgb" or self.channels == "bgr":
            images = _colour(images, swap=self.channels == "bgr")
        if self.mean is not None or self.std is not None:
            images = self._normalise(images)
        elif self.range != 1.0:
            images = images * self.range
        return images.permute(0, 2, 3, 1) if self.layout == "nhwc" else images

    def seen(self, height: int, width: int) -> tuple[int, int, int, int]:
        """Top, left, bottom and right of the part of an image that cropping leaves, in whole pixels of the image."""
        if self.crop is None:
            return 0, 0, height, width
        resized = (height, width) if self.size is None else _resized(height, width, self.size)
        ends = []
        for side, there in ((height, resized[0]), (width, resized[1])):
            first = round((there - self.crop) / 2)
            ends.append((round(first * side / there), round((first + self.crop) * side / there)))
        (top, bottom), (left, right) = ends
        return top, left, max(bottom, top + 1), max(right, left + 1)

    def _normalise(self, images: Tensor) -> Tensor:
        mean, std = _numbers(self.mean, 0.0), _numbers(self.std, 1.0)
        for name, values in (("mean", mean), ("std", std)):
            # Three means would silently broadcast one channel into three.
            if len(values) not in (1, images.shape[1]):
                raise BrittleError(
                    f"{name} has {len(values)} numbers but the images have {images.shape[1]} channels",
                    f"Give channels={'rgb' if len(values) == 3 else 'grey'}, or one number.",
                )
        # (range·x − mean) / std = scale·x + shift: one pass over the images instead of three.
        scale = tuple(float(self.range) / deviation for deviation in std)
        shift = tuple(-centre / deviation for centre, deviation in _pairs(mean, std))
        scale_of, shift_of = (constant(each, images.device, images.dtype).view(1, -1, 1, 1) for each in (scale, shift))
        return torch.addcmul(shift_of, images, scale_of)


def exact_size(size: int | str | tuple[int, int] | None) -> int | tuple[int, int] | None:
    """`size` as a number of pixels (shorter side) or (H, W)."""
    if isinstance(size, str):
        match = re.fullmatch(r"(\d+)(?:[x×/](\d+))?", size)
        if match is None:
            raise BrittleError(f"size={size!r} is not a size", "Write size=224 (shorter side) or size=224x320 (HxW).")
        size = int(match[1]) if match[2] is None else (int(match[1]), int(match[2]))
    elif isinstance(size, (tuple, list)):  # a study file writes [224, 320]
        height, width = size
        size = (height, width)
    if size is not None and min(size if isinstance(size, tuple) else (size,)) < 1:
        raise BrittleError(f"size={size} leaves nothing", "Write size=224 (shorter side) or size=224x320 (HxW).")
    if size is not None and max(size if isinstance(size, tuple) else (size,)) > LARGEST_SIDE:
        raise BrittleError(f"size={size} is too large", f"At most {LARGEST_SIDE} pixels per side are possible.")
    return size


def _numbers(values: float | tuple[float, ...] | None, neutral: float) -> tuple[float, ...]:
    if values is None:
        return (neutral,)
    return tuple(map(float, values)) if isinstance(values, (tuple, list)) else (float(values),)


def _pairs(mean: tuple[float, ...], std: tuple[float, ...]) -> Iterator[tuple[float, float]]:
    """The mean and standard deviation of each channel; one number holds for all."""
    channels = max(len(mean), len(std))
    return zip(*(each * (channels if len(each) == 1 else 1) for each in (mean, std)), strict=True)


def _resize(images: Tensor, size: int | str | tuple[int, int], mode: str) -> Tensor:
    height, width = images.shape[-2:]
    wanted = _resized(height, width, size)
    if wanted == (height, width):
        return images
    resized = functional.interpolate(images, wanted, mode=mode, antialias=True, align_corners=False)
    return resized.clamp(0, 1) if mode == "bicubic" else resized


def _resized(height: int, width: int, size: int | str | tuple[int, int]) -> tuple[int, int]:
    """The height and width of an image once it is resized."""
    wanted = exact_size(size)
    if isinstance(wanted, int):
        # torchvision truncates the longer side; this does the same, to give the same pixels.
        longer = int(wanted * max(height, width) / min(height, width))
        wanted = (wanted, longer) if height <= width else (longer, wanted)
        if wanted[0] * wanted[1] > LARGEST_SIDE**2:
            raise BrittleError(
                f"size={size} makes {wanted[0]}×{wanted[1]} of images of {height}×{width}, too large to compute with",
                "Give a smaller size, or exactly HxW.",
            )
    return (height, width) if wanted is None else wanted


def _centre(images: Tensor, crop: int) -> Tensor:
    height, width = images.shape[-2:]
    if crop > min(height, width):
        raise BrittleError(f"crop={crop} is larger than images of {height}×{width}", f"Give size={crop} as well.")
    top, left = round((height - crop) / 2), round((width - crop) / 2)
    return images[..., top : top + crop, left : left + crop]


def _grey(images: Tensor) -> Tensor:
    if images.shape[1] == 1:
        return images
    _expect_colour(images, "grey")
    red, green, blue = ITU_R_601
    return red * images[:, 0:1] + green * images[:, 1:2] + blue * images[:, 2:3]


def _colour(images: Tensor, *, swap: bool) -> Tensor:
    if images.shape[1] == 1:
        return images.expand(-1, 3, -1, -1)
    _expect_colour(images, "bgr" if swap else "rgb")
    return images.flip(1) if swap else images


def _expect_colour(images: Tensor, wanted: str) -> None:
    if images.shape[1] != 3:
        raise BrittleError(
            f"channels={wanted} takes images of 1 or 3 channels, not {images.shape[1]}",
            "Leave channels out, or convert the images.",
        )
