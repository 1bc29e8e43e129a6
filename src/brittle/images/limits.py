"""What opening a file may cost: what its header declares is held against a limit before anything else is read."""

from __future__ import annotations

import math
from collections.abc import Sequence

from brittle.errors import BrittleError

GIGABYTE = 10**9
MEGAPIXEL = 10**6
GIGABYTES = 4.0  # 60,000 images of 28×28 take 0.05, 50,000 of 3×32×32 take 0.15, 25,000 of 3×224×224 take 3.8
LONGEST_REASON = 300  # characters: some libraries quote the file
MEGAPIXELS = 64.0  # the largest common cameras have 50 to 61


def check_array(shape: Sequence[int], itemsize: int, gigabytes: float, name: str) -> int:
    """The bytes of an array of this shape, refused where it has no values or takes more than allowed."""
    wanted = math.prod(shape) * itemsize
    if wanted == 0:
        raise BrittleError(f"{name} has no values: its shape is {times(shape)}", "Leave it out.")
    check_bytes(wanted, gigabytes, f"{name}, {times(shape)},")
    return wanted


def check_bytes(wanted: int, gigabytes: float, what: str) -> None:
    if wanted > gigabytes * GIGABYTE:
        needed = math.ceil(wanted / GIGABYTE)
        raise BrittleError(
            f"{what} takes {wanted / GIGABYTE:,.3g} GB of memory, and at most {gigabytes:g} are allowed",
            f"If the file is what you expect, allow more: gigabytes={needed}.",
        )


def check_pixel_count(size: tuple[int, int], megapixels: float, name: str) -> None:
    """Refuses an image of (width, height) that has no pixels or more than allowed."""
    width, height = size
    if width < 1 or height < 1:
        raise BrittleError(f"{name} has no pixels: it is {width}×{height}", "Leave it out, or set unreadable=skip.")
    if width * height > megapixels * MEGAPIXEL:
        needed = math.ceil(width * height / MEGAPIXEL)
        raise BrittleError(
            f"{name} is {width}×{height}, {needed} million pixels, and at most {megapixels:g} million are allowed",
            f"If the file is what you expect, allow more: megapixels={needed}.",
        )


def reason(error: Exception) -> str:
    """The first line of what another library says, or what kind of error it is."""
    said = getattr(error, "strerror", None) or str(error).strip()
    return said.splitlines()[0].rstrip(".")[:LONGEST_REASON] if said else type(error).__name__


def times(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape)) or "that of a single number"
