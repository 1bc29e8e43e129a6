"""Pixels in many formats → (C, H, W), and then float32 in [0, 1]."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from brittle.errors import BrittleError

Array = np.ndarray[Any, Any]
Shape = tuple[int, int, int]  # (C, H, W)
GREY_MODES = ("1", "L", "LA", "La", "I", "F", "I;16", "I;16L", "I;16B", "I;16N")


def from_pil(
    image: Image.Image, channels: str = "auto", name: str = "an image", size: int | None = None, crop: int | None = None
) -> Array:
    """A PIL image, turned upright by its EXIF data, as (C, H, W): uint8, or float32 if it has more than 8 bits.

    `size` is the shorter side after a bilinear resize and `crop` a central square, both rounded as in torchvision.
    Transparency is dropped, as common loaders do, so that a classifier sees what it saw in training.
    """
    if 0 in image.size:
        raise BrittleError(f"{name} has no pixels: it is {image.width}×{image.height}", "Leave it out.")
    image = ImageOps.exif_transpose(image)
    grey = channels == "grey" or (channels == "auto" and is_grey(image))
    if image.mode[0] in "IF":
        image = _deep(image, name)
    else:
        if image.mode in ("P", "PA"):
            image = image.convert("RGBA")  # Pillow warns if a palette with transparency is converted straight to RGB
        image = image.convert("L" if grey else "RGB")
    if size is not None and min(image.size) != size:
        image = image.resize(resized(image.size, size), Image.Resampling.BILINEAR)
    if crop is not None:
        image = _cropped(image, crop, name)
    pixels = np.asarray(image)
    if pixels.ndim == 3:
        return pixels.transpose(2, 0, 1)
    return pixels[None] if grey else np.repeat(pixels[None], 3, axis=0)


def resized(size: tuple[int, int], shorter: int | None) -> tuple[int, int]:
    """(width, height) after resizing the shorter side to `shorter`."""
    if shorter is None:
        return size
    width, height = size
    return (shorter, int(shorter * height / width)) if width <= height else (int(shorter * width / height), shorter)


def _cropped(image: Image.Image, side: int, name: str) -> Image.Image:
    width, height = image.size
    if side > min(width, height):
        raise BrittleError(
            f"{name} is {width}×{height}, too small for crop={side}", f"Enlarge it: size={side},crop={side}."
        )
    left, top = round((width - side) / 2), round((height - side) / 2)
    return image.crop((left, top, left + side, top + side))


def is_grey(image: Image.Image) -> bool:
    """Whether the file has no colour, judging by its mode or, for a palette, by its entries."""
    if image.mode in ("P", "PA"):
        red, green, blue = image.convert("RGBA").convert("RGB").split()
        return red.tobytes() == green.tobytes() == blue.tobytes()
    return image.mode in GREY_MODES


def _deep(image: Image.Image, name: str) -> Image.Image:
    """16-bit and floating-point greys as floats in [0, 1]."""
    values = np.asarray(image).astype(np.float32)
    if image.mode != "F":
        values /= 65535
    check_range(values, name, "Save it as 8-bit, as 16-bit (0…65535), or as floats in [0, 1]")
    return Image.fromarray(values)


def from_anything(image: Any, name: str) -> Array:
    """PIL, numpy (H, W, C) or (H, W), tensor (C, H, W) or (H, W) → (C, H, W), uint8 or float in [0, 1]."""
    if isinstance(image, Image.Image):
        return from_pil(image, name=name)
    first = isinstance(image, Tensor)
    pixels = as_numpy(image)
    if pixels.ndim not in (2, 3):
        raise BrittleError(
            f"{name} has the shape {tuple(pixels.shape)}, which is not that of an image",
            "Give (H, W), (C, H, W) or (H, W, C)"
            + ("; of batches, an iterator over them." if pixels.ndim == 4 else "."),
        )
    check_pixels(pixels, name)
    return channels_first(pixels, prefer_first=first)


def as_numpy(values: Any) -> Array:
    """A tensor or array-like as numpy, without copying if possible."""
    if isinstance(values, Tensor):
        values = values.detach().cpu()
        return np.asarray((values.float() if values.dtype == torch.bfloat16 else values).numpy())
    return np.asarray(values)


def channels_first(pixels: Array, prefer_first: bool) -> Array:
    """One image (H, W), (C, H, W) or (H, W, C) → (C, H, W). A view."""
    if pixels.ndim == 2:
        return pixels[None]
    return np.moveaxis(pixels, -1, -3) if channels_last(pixels.shape, prefer_first) else pixels


def channels_last(shape: tuple[int, ...], prefer_first: bool) -> bool:
    """Whether the last of three axes is the channels: 1 or 3, or else 4; `prefer_first` decides if both fit."""
    for fits in ((1, 3), (4,)):
        first, last = shape[-3] in fits, shape[-1] in fits
        if first or last:
            return last and not (first and prefer_first)
    return False


def check_pixels(pixels: Array, name: str) -> None:
    """Pixels are uint8, or floats in [0, 1]; only the user knows how to convert anything else."""
    if pixels.size == 0:
        raise BrittleError(f"{name} has no pixels: its shape is {tuple(pixels.shape)}", "Leave it out.")
    if pixels.dtype == np.uint8:
        return
    if pixels.dtype.kind != "f":
        raise BrittleError(
            f"{name} holds {pixels.dtype} values", "Convert the pixels to uint8 (0…255) or to floats in [0, 1]."
        )
    check_range(pixels, name, "Divide by 255, or undo the normalisation: the classifier applies its own")


def check_range(pixels: Array, name: str, remedy: str) -> None:
    low, high = float(pixels.min()), float(pixels.max())
    if not (low >= 0.0 and high <= 1.0):  # in this form, so that NaN fails
        raise BrittleError(f"{name} has values from {low:g} to {high:g}, outside [0, 1]", remedy + ".")


def to_float(pixels: Array) -> Array:
    """uint8 or float (…) → float32 (…), with uint8 divided by 255."""
    return np.divide(pixels, np.float32(255)) if pixels.dtype == np.uint8 else pixels.astype(np.float32)


def stack(images: Sequence[Array]) -> Tensor:
    """Images (C, H, W) of one shape, uint8 or float → (B, C, H, W): uint8 where all are, else float32 in [0, 1]."""
    stored = all(image.dtype == np.uint8 for image in images)
    batch = np.empty((len(images), *images[0].shape), np.uint8 if stored else np.float32)
    for place, image in enumerate(images):
        batch[place] = image if stored else to_float(image)
    return torch.from_numpy(batch)


def in_bytes(images: Tensor) -> bytes:
    """Images in 8 bits, for what they are known by."""
    return (images.mul(255).round().byte() if images.is_floating_point() else images).cpu().numpy().tobytes()


def by_shape(shapes: Iterable[Sequence[int]]) -> dict[Shape, list[int]]:
    """The places of each shape (C, H, W), in order of first occurrence."""
    places: dict[Shape, list[int]] = {}
    for place, (channels, height, width) in enumerate(shapes):
        places.setdefault((channels, height, width), []).append(place)
    return places


def ragged(first: str, shape: Shape, other: str, other_shape: Shape) -> BrittleError:
    """The error for images that differ in shape where they must not."""
    if shape[1:] == other_shape[1:]:
        what = f"the images differ: {first} has {shape[0]} channels and {other} has {other_shape[0]}"
        return BrittleError(what, "Bring them to one number of channels (for a folder: channels=rgb or channels=grey).")
    sizes = f"{first} is {shape[2]}×{shape[1]} and {other} is {other_shape[2]}×{other_shape[1]} (width × height)"
    remedy = "Bring them to one size (for a folder: size=…,crop=…, such as size=256,crop=224)."
    return BrittleError(f"the images differ in size: {sizes}", remedy)
