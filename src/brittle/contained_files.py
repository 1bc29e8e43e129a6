"""Files that a received file names, in a table or by a link: those of its own folder, and no others of this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from brittle.errors import BrittleError
from brittle.files import printable

Outside = Literal["refuse", "allow"]
OUTSIDE = "files outside of the folder that links or paths lead to: refuse or allow them"


class ContainedFiles:
    """The files below a folder, or below one of several, where a name is relative to the first."""

    def __init__(self, folder: str | Path, *more: str | Path, outside: str = "refuse") -> None:
        self.folder, self.outside = Path(folder), outside
        self._tops = [os.path.realpath(each) for each in (folder, *more)]
        self._real: dict[str, str] = {}  # folders, links resolved: a million files lie in few

    def path(self, name: str) -> Path:
        """Where a file lies that something in the folder names."""
        found = os.path.join(self.folder, name)
        if self.outside == "refuse" and not self.holds(found):
            raise BrittleError(
                f"{printable(name)} leads out of {printable(str(self.folder))}",
                "Copy the file into that folder, or set outside=allow if you trust who made it.",
            )
        return Path(found)

    def holds(self, path: str | Path) -> bool:
        """Whether a path, links resolved, lies below one of the folders."""
        path = os.fspath(path)
        try:
            parent, last = os.path.split(path)
            place = os.path.join(self._resolved(parent), last)
            if last in ("", os.curdir, os.pardir) or os.path.islink(place):
                place = os.path.realpath(place)
        except ValueError:  # a name with a null
            return False
        return any(place == top or place.startswith(top.rstrip(os.sep) + os.sep) for top in self._tops)

    def _resolved(self, folder: str) -> str:
        """A folder without links. What lies above it is known where folders are gone through from the top, also where
        links lead round and round."""
        if folder not in self._real:
            above, last = os.path.split(folder)
            known = os.path.join(self._real[above], last) if above in self._real else folder
            self._real[folder] = os.path.realpath(known)
        return self._real[folder]
