"""Images as data URIs: small ones exactly, as PNG; photographs reduced, as JPEG."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image
from torch import Tensor

EXACT_UP_TO = 64  # pixels a side: up to here a picture is kept pixel by pixel


def data_uri(image: Tensor, longest: int) -> str:
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
    """image (C, H, W) in [0, 1], rounded to 8 bits; of other than three channels the first is shown in grey."""
    pixels = np.rint(255 * image.detach().cpu().double().clamp(0, 1).numpy()).astype(np.uint8)
    return Image.fromarray(pixels.transpose(1, 2, 0) if len(pixels) == 3 else pixels[0])
