"""The images at scale 0 of layouts that hold none themselves: another image set, or nothing."""

from __future__ import annotations

from typing import Any

from brittle.errors import BrittleError
from brittle.images.base import ImageSet
from brittle.images.scales.gather import without_origin
from brittle.images.source import open_source

HELP = "the same images without a shift: another image set's spec (commas as \\,)"


def opened_clean(what: Any, path: str) -> ImageSet | None:
    """The image set at scale 0; None where none is named."""
    if what is None:
        return None
    clean = open_source(what, {})
    if not clean.origin:
        raise BrittleError(
            f"clean={what} of {path} has no images at scale 0 itself", "Name the images that were corrupted."
        )
    return clean


def unnamed(title: str, example: str) -> str:
    """The note of a set whose images at scale 0 are not named."""
    return without_origin(title, f"clean=SPEC gives them, such as clean={example}")
