"""Entry points of installed packages, looked for once and again where packages have come or gone."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from functools import lru_cache
from typing import Any


def entry_points(group: str, name: str | None = None) -> importlib.metadata.EntryPoints:
    """Those of a group, or of a name in it. A search opens a file of every installed package, so that one is kept."""
    found = _of_group(tuple((folder, _changed(folder)) for folder in sys.path), group)
    return found if name is None else found.select(name=name)


@lru_cache(maxsize=64)
def _of_group(where: tuple[tuple[str, float], ...], group: str) -> importlib.metadata.EntryPoints:
    found: importlib.metadata.EntryPoints = _searched(where).select(group=group)
    return found


@lru_cache(maxsize=1)
def _searched(where: tuple[tuple[str, float], ...]) -> Any:
    """All of them; `where` says what the answer depends on."""
    return importlib.metadata.entry_points()


def _changed(folder: str) -> float:
    """When something was last put into a folder or taken out of it."""
    try:
        return os.stat(folder or ".").st_mtime
    except OSError:
        return 0.0
