"""The JSON files of a run folder. Each carries a checksum of what it says: what was damaged or edited is refused in one
line, never half understood."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brittle.errors import BrittleError
from brittle.files import read_whole

CHECKSUM = "checksum"


def kept_text(name: str, said: Mapping[str, Any]) -> str:
    """What is written of some plain values into a file of this name."""
    return json.dumps({**said, CHECKSUM: _checksum(name, said)}, indent=1, allow_nan=False)


def without_nan(value: Any) -> Any:
    """Plain values as JSON can hold them: NaN and ±∞, for which it has no words, become null."""
    if isinstance(value, dict):
        return {key: without_nan(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_nan(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def parsed(path: Path, remedy: str) -> dict[str, Any]:
    """A file's values as they stand there, whoever wrote them."""
    try:
        content = read_whole(path)
    except FileNotFoundError:
        raise BrittleError(f"{path} is missing", remedy) from None
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BrittleError(f"{path} is damaged: it is not a JSON object", remedy)
    return found


def read_kept(path: Path, remedy: str) -> dict[str, Any]:
    """The values that were written, or an error with what to do about it."""
    found = parsed(path, remedy)
    if found.pop(CHECKSUM, None) != _checksum(path.name, found):
        raise BrittleError(f"{path} is not as Brittle wrote it: its checksum is wrong", remedy)
    return found


def _checksum(name: str, said: Mapping[str, Any]) -> str:
    """The name takes part, so that no file is taken for another."""
    return hashlib.blake2b(f"{name} {json.dumps(said, sort_keys=True)}".encode(), digest_size=12).hexdigest()
