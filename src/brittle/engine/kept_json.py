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


def kept_text(said: Mapping[str, Any]) -> str:
    """What is written of some plain values."""
    return json.dumps({**said, CHECKSUM: _checksum(said)}, indent=1, allow_nan=False)


def without_nan(value: Any) -> Any:
    """Plain values as JSON can hold them: NaN and ±∞, for which it has no words, become null."""
    if isinstance(value, dict):
        return {key: without_nan(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_nan(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def parsed(path: Path, remedy: str) -> dict[str, Any]:
    """A file's values as they stand there, whoever wrote them."""
    content = read_whole(path)
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
    if found.pop(CHECKSUM, None) != _checksum(found):
        raise BrittleError(f"{path} is not as Brittle wrote it: its checksum is wrong", remedy)
    return found


def _checksum(said: Mapping[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(said, sort_keys=True).encode(), digest_size=12).hexdigest()
