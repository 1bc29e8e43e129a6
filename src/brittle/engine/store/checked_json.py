"""The JSON files of a run folder. Each carries a checksum of what it says: what was damaged or edited is refused in one
line, never half understood."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brittle.engine.store.place import Place, place_of
from brittle.errors import BrittleError

CHECKSUM = "checksum"
EXACT = 2**53  # from here on a double, which many readers of JSON take for a number, has gaps
IDS = ("id", "ids", "image", "images", "other")  # what holds ids of images
WIDE = re.compile(r"-?\d{16,19}", re.ASCII)


def checked_text(name: str, said: Mapping[str, Any]) -> str:
    """What is written of some plain values into a file of this name."""
    said = wide_as_text(dict(said))
    return json.dumps({**said, CHECKSUM: _checksum(name, said)}, indent=1, allow_nan=False)


def without_nan(value: Any) -> Any:
    """Plain values as JSON can hold them: NaN and ±∞, for which it has no words, become null."""
    if isinstance(value, dict):
        return {key: without_nan(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_nan(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def wide_as_text(value: Any) -> Any:
    """Plain values as every reader of JSON understands them: whole numbers from 2⁵³ on, such as ids that are hashes,
    become text, since many readers would round them."""
    if isinstance(value, dict):
        return {key: wide_as_text(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [wide_as_text(each) for each in value]
    return str(value) if type(value) is int and abs(value) >= EXACT else value


def _wide_as_numbers(value: Any, key: str = "") -> Any:
    """The ids among these values as whole numbers again."""
    if isinstance(value, dict):
        return {name: _wide_as_numbers(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_wide_as_numbers(each, key) for each in value]
    return int(value) if key in IDS and isinstance(value, str) and WIDE.fullmatch(value) else value


def read_object(path: Path | Place, remedy: str) -> dict[str, Any]:
    """A file's values as they stand there, whoever wrote them."""
    try:
        content = place_of(path).read()
    except FileNotFoundError:
        raise BrittleError(f"{path} is missing", remedy) from None
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BrittleError(f"{path} is damaged: it is not a JSON object", remedy)
    return found


def read_checked(path: Path | Place, remedy: str) -> dict[str, Any]:
    """The values that were written, or an error with what to do about it."""
    found = read_object(path, remedy)
    if found.pop(CHECKSUM, None) != _checksum(path.name, found):
        raise BrittleError(f"{path} is not as Brittle wrote it: its checksum is wrong", remedy)
    restored: dict[str, Any] = _wide_as_numbers(found)
    return restored


def _checksum(name: str, said: Mapping[str, Any]) -> str:
    """The name takes part, so that no file is taken for another."""
    return hashlib.blake2b(f"{name} {json.dumps(said, sort_keys=True)}".encode(), digest_size=12).hexdigest()
