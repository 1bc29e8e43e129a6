"""Files that either exist in full or not at all, and names of files that are not text."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from pathlib import Path

from brittle.errors import Failure

_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")


def printable(path: str) -> str:
    """A path as text that can be stored and shown: bytes that are not UTF-8 become \\xe9 and the like."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def real_path(text: str) -> str:
    """The path that `printable` text stands for: as it is where that exists, or else with its bytes put back."""
    if "\\x" not in text or os.path.lexists(text):
        return text
    return os.fsdecode(_ESCAPED.sub(lambda match: bytes([int(match[1], 16)]), os.fsencode(text)))


def write_durably(path: Path, write: Callable[[Path], object]) -> None:
    """Writes under a temporary name, flushes to disk, renames: `path` never exists with only part of its content."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.unlink(missing_ok=True)  # a link of that name would be followed
        write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Failure(
                f"the disk is full: {path} can't be written",
                "Free some space and run the same command again; finished units are kept.",
            ) from error
        raise Failure(
            f"{path} can't be written: {error.strerror or error}", "Check the folder's permissions."
        ) from error
