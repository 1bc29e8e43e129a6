"""Entry points of installed packages, looked for once and again where packages have come or gone."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from functools import lru_cache
from typing import Any


def entry_points(group: str, **wanted: str) -> importlib.metadata.EntryPoints:
    """Those of a group. A search opens a file of every installed package, so that one is kept."""
    found: importlib.metadata.EntryPoints = _searched(tuple((folder, _changed(folder)) for folder in sys.path))
    return found.select(group=group, **wanted)


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
