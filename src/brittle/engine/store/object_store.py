"""The unit files of a run in an object store: of what lies there one listing is asked for, not one per read."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from brittle.engine.store.connection import Connection
from brittle.engine.store.filesystem import Filesystem


class Listing:
    """The files under a prefix: asked for once, and kept up to date with what this process writes and removes."""

    def __init__(self, store: Connection, root: str) -> None:
        self._store, self._root = store, root
        self._lock = threading.Lock()
        self._known: dict[str, set[str]] | None = None  # folder → names

    def names(self, folder: str) -> list[str]:
        with self._lock:
            if self._known is None:
                self._known = self._asked(self._root)
            return sorted(self._known.get(folder, ()))

    def refresh(self, folder: str | None = None) -> None:
        """Asks again what is in a folder, or everywhere."""
        with self._lock:
            if folder is None or self._known is None:
                self._known = None
            else:
                self._known[folder] = self._asked(folder).get(folder, set())

    def folders(self) -> list[str]:
        with self._lock:
            if self._known is None:
                self._known = self._asked(self._root)
            return sorted(folder for folder, names in self._known.items() if names)

    def add(self, path: str) -> None:
        self._change(path, set.add)

    def discard(self, path: str) -> None:
        self._change(path, set.discard)

    def _change(self, path: str, change: Callable[[set[str], str], None]) -> None:
        folder, _, name = path.rpartition("/")
        with self._lock:
            if self._known is not None:
                change(self._known.setdefault(folder, set()), name)

    def _asked(self, root: str) -> dict[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for path, _ in self._store.listed(root, deep=True):
            folder, _, name = f"{root}/{path}".rpartition("/")
            found[folder].add(name)
        return dict(found)


class ObjectStore(Filesystem):
    """The files under a prefix."""

    def __init__(self, store: Connection, root: str) -> None:
        super().__init__(store.system)
        self.store, self._listing = store, Listing(store, root)

    def shown(self, path: str) -> str:
        return f"{self.store.scheme}://{path}"

    def names(self, folder: str) -> list[str]:
        return self._listing.names(folder)

    def folders(self, root: str) -> list[str]:
        return [folder for folder in self._listing.folders() if f"{folder}/".startswith(f"{root}/")]

    def refresh(self, folder: str | None = None) -> None:
        self._listing.refresh(folder)

    def is_file(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        return name in self._listing.names(folder)

    def is_link(self, path: str) -> bool:
        return False

    def read(self, path: str) -> bytes:
        return self.store.read(path)

    def open(self, path: str) -> Any:
        return self.store.open(path)

    def remove(self, path: str) -> None:
        self.store.remove(path)
        self._listing.discard(path)

    def move(self, path: str, to: str) -> None:
        self.store.move(path, to)
        self._listing.discard(path)
        self._listing.add(to)

    def commit(self, path: str, content: bytes | bytearray) -> None:
        self.store.write(path, content)
        self._listing.add(path)
