"""Images as data URIs: small ones exactly, as PNG; photographs reduced, as JPEG."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from PIL import Image
from torch import Tensor

EXACT_UP_TO = 64  # pixels per side: up to here a picture is kept pixel by pixel
LONGEST, LONGEST_OF_MANY = 160, 96  # pixels of a photograph's longest side
PHOTOS_IN_FULL = 500  # past this many photographs they are shown smaller


def longest_side(pictures: int) -> int:
    """How large photographs are shown where a section has so many pictures."""
    return LONGEST_OF_MANY if pictures > PHOTOS_IN_FULL else LONGEST


def data_uri(image: Tensor, longest: int = LONGEST) -> str:
    """image (C, H, W) in [0, 1] → a data URI whose longest side is at most `longest` pixels."""
    picture = to_picture(image)
    exact = max(picture.size) <= EXACT_UP_TO
    if not exact:
        picture.thumbnail((longest, longest), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    if exact:
        picture.save(buffer, "PNG", optimize=True)
    else:
        picture.save(buffer, "JPEG", quality=85)
    kind = "png" if exact else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"


def to_picture(image: Tensor) -> Image.Image:
    """image (C, H, W) in [0, 1], rounded to 8 bits; unless it has three channels, the first is shown in grey."""
    pixels = np.rint(255 * image.detach().cpu().double().clamp(0, 1).numpy()).astype(np.uint8)
    return Image.fromarray(pixels.transpose(1, 2, 0) if len(pixels) == 3 else pixels[0])


def from_uri(uri: str) -> np.ndarray[Any, Any]:
    """The pixels of such a picture, (H, W) or (H, W, 3) of 0 to 255."""
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))))
