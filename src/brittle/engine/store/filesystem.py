"""Where unit files lie: a folder on a disk. An object store (object_store.py) can take its place."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyarrow import fs

from brittle.files import unusable, write_durably


class Filesystem:
    """A filesystem. What `commit` writes is there whole or not at all."""

    def __init__(self, system: Any = None) -> None:
        self.system = fs.LocalFileSystem() if system is None else system

    def shown(self, path: str) -> str:
        """A path as messages name it."""
        return path

    def refresh(self, folder: str | None = None) -> None:
        """Forgets what is remembered of a folder, or of all of them: of a disk, nothing is."""

    def names(self, folder: str) -> list[str]:
        """The files in a folder, by name; none where there is no such folder. Links do not count."""
        with contextlib.suppress(FileNotFoundError), _reporting_errors(folder, "read"), os.scandir(folder) as found:
            return [each.name for each in found if each.is_file(follow_symlinks=False)]
        return []

    def folders(self, root: str) -> list[str]:
        """Every folder under a root that holds files."""
        with _reporting_errors(root, "read"):
            return sorted(folder for folder, _, files in os.walk(root) if files)

    def is_file(self, path: str) -> bool:
        with _reporting_errors(path, "read"):
            return bool(self.system.get_file_info(path).is_file) and not self.is_link(path)

    def is_link(self, path: str) -> bool:
        return os.path.islink(path)

    def read(self, path: str) -> bytes:
        with self.open(path) as file:
            content: bytes = file.read()
        return content

    def open(self, path: str) -> Any:
        if self.is_link(path):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        return self.system.open_input_file(path)

    def remove(self, path: str) -> None:
        """What has gone already is not missed."""
        with contextlib.suppress(FileNotFoundError), _reporting_errors(path, "removed"):
            self.system.delete_file(path)

    def move(self, path: str, to: str) -> None:
        with contextlib.suppress(FileNotFoundError), _reporting_errors(path, "renamed"):
            self.system.move(path, to)

    def commit(self, path: str, content: bytes | bytearray) -> None:
        """Writes under another name, flushes and renames."""
        write_durably(Path(path), lambda to: to.write_bytes(content))


@contextmanager
def _reporting_errors(path: str, done: str) -> Iterator[None]:
    """In our own words, where the filesystem fails; what is not there is for the caller to deal with."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise unusable(path, done, error) from error
