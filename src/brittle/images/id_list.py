"""Ids of images as a user gives them: numbers, 3/17/240, or a text file with one per line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from brittle.errors import BrittleError
from brittle.files import real_path, size_of
from brittle.images.limits import reason

WRITTEN = re.compile(r"\s*-?\d+(/-?\d+)*\s*", re.ASCII)
NUMBER = re.compile(r"-?\d{1,19}", re.ASCII)
MOST_BYTES = 1 << 28
LEAST, MOST = -(2**63), 2**63 - 1


def ids_of(what: str | Iterable[int]) -> tuple[int, ...]:
    """The ids that are meant."""
    if not isinstance(what, str):
        return tuple(int(each) for each in what)
    if WRITTEN.fullmatch(what):
        return tuple(_number(each, what) for each in what.strip().split("/"))
    file = Path(real_path(what))
    if size_of(file) > MOST_BYTES:
        raise BrittleError(f"{what} is too long for a list of ids", "Give a text file with one id per line.")
    try:
        words = file.read_text(encoding="utf-8").split()
    except (OSError, ValueError) as error:
        raise BrittleError(
            f"{what} can't be read: {reason(error)}", "Give a text file with one id per line."
        ) from error
    if not words:
        raise BrittleError(f"{what} holds no ids", "Write one per line.")
    return tuple(_number(each, what) for each in words)


def _number(word: str, where: str) -> int:
    if not NUMBER.fullmatch(word) or not LEAST <= int(word) <= MOST:
        shown = word if len(word) <= 40 else f"{word[:40]}…"
        raise BrittleError(f"{where[:80]} holds {shown!r}, which is not an id", "Ids are whole numbers, one per line.")
    return int(word)
