"""Arrays as bytes of a request or an answer. What a service sends is measured before it is believed."""

from __future__ import annotations

import io
import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.errors import Failure

NPY, JSON, BYTES = "application/x-npy", "application/json", "application/octet-stream"
FLOATS = ("f2", "f4", "f8")
LONGEST_NUMBER = 32  # characters of a number in JSON, with what stands around it
ROOM = 1 << 16  # bytes of an answer besides its numbers

Array = NDArray[Any]


class NotScores(Exception):
    """An answer that can't be read, and why: "it …"."""


def most_bytes(images: int, classes: int | None) -> int:
    """What the scores of some images may take, however they are written."""
    return ROOM + images * (classes or 1 << 15) * LONGEST_NUMBER


def npy_bytes(images: Array) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, images, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def read_npy(body: bytes) -> Array:
    """The array in an .npy file, whose header is not believed where it promises another length than there is."""
    stream = io.BytesIO(body)
    try:
        version = np.lib.format.read_magic(stream)
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, by_column, kind = read_header(stream)
    except (ValueError, KeyError, SyntaxError, TypeError, OverflowError):
        raise NotScores("its answer is not an .npy file of version 1 or 2") from None
    if kind.str[1:] not in FLOATS:
        raise NotScores(f"its answer is an array of {kind}, not of floats")
    return shaped(body[stream.tell() :], kind, shape, "F" if by_column else "C")


def shaped(body: bytes, kind: np.dtype[Any], shape: tuple[int, ...], order: str = "C") -> Array:
    """Bytes as an array (…) of a type, as long as that takes."""
    if min(shape, default=1) < 0 or math.prod(shape) * kind.itemsize != len(body):
        raise NotScores(f"its answer has {len(body):,} bytes, which are not an array of {_times(shape)}")
    return np.frombuffer(body, kind).reshape(shape, order=order)  # type: ignore[call-overload,no-any-return]


def read_json(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise NotScores("its answer is not JSON") from None
    if not isinstance(found, dict):
        raise NotScores("its answer is not a JSON object")
    return found


def numbers(values: object) -> Array:
    """Lists of lists of numbers as an array; null, which some write for NaN, is NaN."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        raise NotScores("its answer has scores that are not lists of numbers, all of one length") from None


def refused(who: str, wrong: NotScores) -> Failure:
    return Failure(
        f"classifier {who} can't be understood: {wrong}", "See what its service is to answer (docs/http.md)."
    )


def _times(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape)) or "one number"
