"""Folder names for cells: any text can name a classifier, and not every text can name a folder."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from brittle.errors import BrittleError
from brittle.files import printable

UNSAFE = r"[^A-Za-z0-9._-]+"
UNSAFE_BEFORE = r"[^A-Za-z0-9._=-]+"  # runs that have such folders keep them


def safe_name(name: str, unsafe: str = UNSAFE) -> str:
    """A file name for any name: itself where it is harmless, else cleaned and told apart by a hash. An equals sign is
    not: pandas and others take a folder `alpha=50` for a column."""
    cleaned = re.sub(unsafe, "-", name).strip(".-")[:60]
    if cleaned == name != "":
        return name
    return f"{cleaned}-{hashlib.blake2b(name.encode(), digest_size=4).hexdigest()}"


def refuse_same_folders(names: Iterable[str], sort: str) -> None:
    """Names that would share a folder, on a disk that ignores case too, would share rows; "" is not a name, and what
    is not text can't be written."""
    folders: dict[str, str] = {}
    for name in names:
        if not name or printable(name) != name:
            raise BrittleError(f"{printable(name)!r} can't be a name among the {sort}", "Name it by some text.")
        other = folders.setdefault(safe_name(name).casefold(), name)
        if other != name:
            raise BrittleError(
                f"the {sort} {other!r} and {name!r} would share a folder on some disks", "Rename one of them."
            )
