"""Files that either exist in full or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

from brittle.errors import Failure


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
