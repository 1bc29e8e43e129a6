"""Where the files of a run lie: a folder on a disk, or objects under a prefix of a bucket, such as `s3://bucket/runs/a`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from brittle.engine.store.connection import Connection, connection
from brittle.engine.store.filesystem import Filesystem
from brittle.engine.store.object_store import ObjectStore
from brittle.errors import BrittleError
from brittle.files import printable, read_whole, write_durably

_REMOTE = re.compile(r"(s3|gs):/{1,2}(?=[^/])(.*)", re.DOTALL)  # a Path has one slash only


@dataclass(frozen=True)
class Place:
    """A folder or a file, as text. Nothing is asked of a store before something is read or written."""

    text: str

    def __str__(self) -> str:
        return self.text

    def __fspath__(self) -> str:
        return str(self.local)

    def __truediv__(self, name: str) -> Place:
        return Place(f"{self.text}/{name}" if self.remote else str(Path(self.text) / name))

    @property
    def scheme(self) -> str:
        """ "s3" or "gs"; "" of a disk."""
        return self.text.partition("://")[0] if "://" in self.text else ""

    @property
    def remote(self) -> bool:
        return bool(self.scheme)

    @property
    def local(self) -> Path:
        """The path of what lies on a disk."""
        if self.remote:
            raise BrittleError(f"{self} lies in an object store, and a folder on a disk is needed", "Name one.")
        return Path(self.text)

    @property
    def inside(self) -> str:
        """The path within its filesystem."""
        return self.text.partition("://")[2] if self.remote else self.text

    @property
    def name(self) -> str:
        return self.inside.rpartition("/")[2]

    def beside(self, name: str) -> Place:
        """A file in the same folder."""
        return Place(f"{self.text.rpartition('/')[0]}/{name}" if self.remote else str(self.local.with_name(name)))

    @property
    def public(self) -> Path | str:
        """What functions for users give back: a path, or the address in a store as text."""
        return self.text if self.remote else self.local

    def resolve(self) -> Place:
        """The same for a process that works in another folder."""
        return self if self.remote else Place(str(Path(self.text).resolve()))

    def files(self) -> Filesystem:
        """The filesystem for what lies here, which remembers a store's listing of it."""
        return ObjectStore(self._connection, self.inside) if self.remote else Filesystem()

    def is_file(self) -> bool:
        return self._connection.is_file(self.inside) if self.remote else self.local.is_file()

    def read(self) -> bytes:
        return self._connection.read(self.inside) if self.remote else read_whole(self.local)

    def read_text(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return self.read().decode(encoding, errors)

    def write(self, content: str | bytes) -> None:
        """Writes a file whole, or not at all."""
        content = content.encode() if isinstance(content, str) else content
        if self.remote:
            self._connection.write(self.inside, content)
        else:
            write_durably(self.local, lambda to: to.write_bytes(content))

    @contextmanager
    def made_on_disk(self) -> Iterator[Path]:
        """A path on a disk for what writes files itself; the file goes to an object store once it is there."""
        if not self.remote:
            yield self.local
            return
        with TemporaryDirectory(prefix="brittle-") as folder:
            yield Path(folder) / self.name
            self.write((Path(folder) / self.name).read_bytes())

    def written(self) -> datetime:
        """When a file was last written."""
        if self.remote:
            return self._connection.written(self.inside)
        return datetime.fromtimestamp(self.local.stat().st_mtime, UTC)

    def names(self) -> list[str]:
        """What lies directly in a folder: files and folders; none where there is no such folder."""
        if self.remote:
            return [name for name, _ in self._connection.listed(self.inside)]
        return sorted(os.listdir(self.local)) if self.local.is_dir() else []

    @property
    def _connection(self) -> Connection:
        return connection(self.scheme)


def place_of(where: str | os.PathLike[str] | Place) -> Place:
    """The place that a user named."""
    if isinstance(where, Place):
        return where
    text = os.fspath(where)
    match = _REMOTE.fullmatch(text)
    if match is None:
        return Place(str(Path(text)))
    scheme, rest = match[1], match[2].rstrip("/")
    if "@" in rest.partition("/")[0] or "?" in rest or "#" in rest:
        raise BrittleError(
            f"the name of a place in an object store is {scheme}://BUCKET/PREFIX and nothing else",
            "Credentials, the region and the endpoint come from the environment (docs/object-stores.md).",
        )
    if printable(rest) != rest or any(part in ("", ".", "..") for part in rest.split("/")):
        raise BrittleError(f"{printable(text)} is not a name that a run can have", f"Name it {scheme}://BUCKET/PREFIX.")
    return Place(f"{scheme}://{rest}")
