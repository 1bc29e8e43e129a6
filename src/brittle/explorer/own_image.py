"""A picture of the reader's own: decoded with limits, and brought to the shape of an image set."""

from __future__ import annotations

import base64
import io
import warnings

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from brittle.errors import BrittleError
from brittle.images.limits import check_pixel_count
from brittle.report.page.pictures import to_picture

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")  # decoders that are ever tried
MEGAPIXELS = 40.0


def decoded(content: bytes, shape: tuple[int, int, int]) -> Tensor:
    """An encoded picture as an image (C, H, W) in [0, 1]: its middle, resized. What its header declares is held
    against the limits before anything else of it is read."""
    channels, height, width = shape
    if channels not in (1, 3):
        raise BrittleError(f"these images have {channels} channels", "Only grey and RGB pictures can be chosen.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            picture = Image.open(io.BytesIO(content), formats=FORMATS)
            check_pixel_count(picture.size, MEGAPIXELS, "the picture")
            whole = ImageOps.exif_transpose(picture)
            flat = _on_black(whole).convert("L" if channels == 1 else "RGB")
    except BrittleError:
        raise
    except Image.DecompressionBombError as error:
        raise BrittleError(f"the picture has more than {MEGAPIXELS:g} million pixels", "Make it smaller.") from error
    except Exception as error:  # decoders raise anything
        raise BrittleError("the file is not a picture that can be read", f"Choose {', '.join(FORMATS)}.") from error
    fitted = ImageOps.fit(flat, (width, height), Image.Resampling.LANCZOS)
    pixels = np.asarray(fitted, np.float32) / np.float32(255)
    return torch.from_numpy(pixels[None] if channels == 1 else pixels.transpose(2, 0, 1).copy())


def exact_uri(image: Tensor) -> str:
    """A picture of 8 bits without loss, at its own size."""
    buffer = io.BytesIO()
    to_picture(image).save(buffer, "PNG")
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def _on_black(picture: Image.Image) -> Image.Image:
    """Without what can be seen through."""
    if picture.mode not in ("RGBA", "LA", "PA") and "transparency" not in picture.info:
        return picture
    over = picture.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", over.size, (0, 0, 0, 255)), over)
