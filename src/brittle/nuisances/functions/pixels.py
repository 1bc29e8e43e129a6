"""An image (C, H, W) in [0, 1] as functions of several libraries take it, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image
from torch import Tensor

CHANNELS = (1, 3, 4)  # that a PIL image may have: L, RGB, RGBA


class NotAnImage(Exception):
    """What a function returned is not an image, or the image can't be given to it."""


def with_image(function: Callable[..., Any], image: Tensor) -> Tensor:
    return from_tensor(function(image))


def with_batch(function: Callable[..., Any], image: Tensor) -> Tensor:
    made = from_tensor(function(image[None]))
    return made[0] if made.ndim == 4 and len(made) == 1 else made


def with_array(function: Callable[..., Any], image: Tensor) -> Tensor:
    return from_array(function(to_array(image)))


def with_pil(function: Callable[..., Any], image: Tensor) -> Tensor:
    given = to_pil(image)
    made = function(given)
    if not isinstance(made, Image.Image):
        raise NotAnImage(f"returned {kind_of(made)}")
    return from_array(np.asarray(made.convert(given.mode)))


def with_keyword(function: Callable[..., Any], image: Tensor) -> Tensor:
    """As albumentations is called."""
    return from_array(function(image=to_array(image))["image"])


class Convention(NamedTuple):
    """One way to call a function on an image (C, H, W), and what it is then given, in words."""

    call: Callable[[Callable[..., Any], Tensor], Tensor]
    words: str


KEYWORD = "keyword"
CONVENTIONS: Mapping[str, Convention] = {
    "image": Convention(with_image, "a tensor (C, H, W)"),
    "batch": Convention(with_batch, "a tensor (B, C, H, W)"),
    "array": Convention(with_array, "a uint8 array (H, W, C)"),
    "pil": Convention(with_pil, "a PIL image"),
    KEYWORD: Convention(with_keyword, "image=, a uint8 array (H, W, C)"),
}


def from_tensor(made: object) -> Tensor:
    """Float pixels; those of uint8 go from 0 to 255, as in torchvision."""
    if not isinstance(made, Tensor):
        raise NotAnImage(f"returned {kind_of(made)}")
    if made.dtype == torch.uint8:
        return made.detach().float() / 255
    if not made.dtype.is_floating_point:
        raise NotAnImage(f"returned a tensor of {str(made.dtype).removeprefix('torch.')}")
    return made.detach().float()


def from_array(made: object) -> Tensor:
    """An array (H, W, C), or (H, W) for one channel, of uint8 from 0 to 255 or of floats from 0 to 1 → (C, H, W)."""
    if not isinstance(made, np.ndarray) or made.ndim not in (2, 3):
        raise NotAnImage(f"returned {kind_of(made)}")
    pixels = torch.from_numpy(np.array(made, order="C"))
    return from_tensor(pixels[None] if made.ndim == 2 else pixels.permute(2, 0, 1))


def to_array(image: Tensor) -> np.ndarray[Any, Any]:
    """(C, H, W) → uint8 (H, W, C)."""
    pixels = image.mul(255).round().clamp(0, 255).to(torch.uint8)
    return np.ascontiguousarray(pixels.permute(1, 2, 0).cpu().numpy())


def to_pil(image: Tensor) -> Image.Image:
    if len(image) not in CHANNELS:
        raise NotAnImage(f"can't be given a PIL image of {len(image)} channels")
    pixels = to_array(image)
    return Image.fromarray(pixels[..., 0] if len(image) == 1 else pixels)


def kind_of(made: object) -> str:
    """What something is, in words."""
    if isinstance(made, (Tensor, np.ndarray)):
        return f"{'a tensor' if isinstance(made, Tensor) else 'an array'} {tuple(made.shape)}"
    return "nothing" if made is None else f"an object of type {type(made).__name__}"
