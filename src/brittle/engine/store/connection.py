"""Object stores (S3, Google Cloud Storage and what speaks like them) through pyarrow's filesystems.

A put is there whole or not at all, and listings show it at once: S3, Google's store and MinIO promise both, and nothing
else is asked of a store. Credentials are looked for where pyarrow looks: in the environment, in the files of the
store's own tools, or in what the machine is given by its cloud. They are never read or written here.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import os
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pyarrow import fs

from brittle.errors import BrittleError, Failure

ATTEMPTS = 3  # of a request, by the store's own library, before an error is heard of here
CONNECTING = 10.0  # seconds
AT_ONCE = 5 << 20  # bytes that are put by one request
PATIENCE = 300.0  # seconds that a store which has answered once may be out of order
LONGEST_PAUSE = 15.0  # seconds between two attempts
_PASSING = re.compile(
    r"HTTP status (?:429|5\d\d)|NETWORK_CONNECTION|SLOW_DOWN|SERVICE_UNAVAILABLE|INTERNAL_FAILURE|THROTTLING"
    r"|REQUEST_TIMEOUT|REQUEST_EXPIRED|UNAVAILABLE|DEADLINE_EXCEEDED|RESOURCE_EXHAUSTED|curlCode"
)
_GONE = re.compile(r"NO_SUCH_KEY|NoSuchKey|RESOURCE_NOT_FOUND")
_REFUSED = re.compile(
    r"HTTP status 40[13]|ACCESS_DENIED|INVALID_ACCESS_KEY_ID|SIGNATURE|EXPIRED|UNRECOGNIZED_CLIENT|PERMISSION_DENIED"
    r"|UNAUTHENTICATED|[Cc]redentials"
)
_NO_BUCKET = re.compile(r"NO_SUCH_BUCKET|NoSuchBucket|bucket (?:does not exist|was not found)")
_ADDED = re.compile(r"^.*?(?=AWS Error|google::cloud)|\s*\(Request ID.*|\. Detail:.*", re.DOTALL)
_SECRETS = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID")

Value = TypeVar("Value")


class Connection:
    """A store, and how long to wait for it: an error at the first request may be a wrong name or a wrong key and is
    raised at once; later ones are most likely to pass."""

    def __init__(self, scheme: str, system: Any) -> None:
        self.scheme, self.system, self._answered = scheme, system, False

    def read(self, path: str) -> bytes:
        def whole() -> bytes:
            with self.system.open_input_file(path) as file:
                content: bytes = file.read()
            return content

        return self.ask(path, "read", whole)

    def open(self, path: str) -> ObjectFile:
        return ObjectFile(self, path)

    def is_file(self, path: str) -> bool:
        return self.ask(path, "read", lambda: bool(self.system.get_file_info(path).is_file))

    def written(self, path: str) -> datetime:
        """When an object was last put, by the store's clock."""
        found = self.ask(path, "read", lambda: self.system.get_file_info(path).mtime)
        return found if found is not None else datetime.now(UTC)

    def listed(self, folder: str, *, deep: bool = False) -> list[tuple[str, Any]]:
        """The names under a prefix, relative to it, with what is known of each; `deep` those of files at any depth."""
        selector = fs.FileSelector(folder, allow_not_found=True, recursive=deep)
        found = self.ask(folder, "listed", lambda: self.system.get_file_info(selector))
        return sorted((info.path.removeprefix(f"{folder}/"), info) for info in found if info.is_file or not deep)

    def write(self, path: str, content: bytes | bytearray) -> None:
        """Puts an object. A large one goes in several parts, and where one of them fails pyarrow leaves an object of
        those before it: it is put under another name, and copied within the store."""
        if len(content) <= AT_ONCE:
            self.ask(path, "written", lambda: self._put(path, content))
            return
        temporary = f"{path}.{os.getpid()}.tmp"
        try:
            self.ask(path, "written", lambda: self._put(temporary, content))
            self.ask(path, "written", lambda: self.system.copy_file(temporary, path))
        finally:
            with contextlib.suppress(BrittleError):
                self.remove(temporary)

    def _put(self, path: str, content: bytes | bytearray) -> None:
        stream = self.system.open_output_stream(path)
        try:
            stream.write(content)
            stream.close()
        except BaseException:
            # Closed here: garbage collection would do so later, and might replace what a second attempt has put.
            with contextlib.suppress(Exception):
                stream.close()
            raise

    def remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.ask(path, "removed", lambda: self.system.delete_file(path))

    def move(self, path: str, to: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.ask(path, "renamed", lambda: self.system.move(path, to))

    def ask(self, path: str, done: str, request: Callable[[], Value]) -> Value:
        """A request, repeated for as long as the store may be out of order; what is not there is for the caller."""
        begun, pause = time.monotonic(), 0.5
        while True:
            try:
                found = request()
            except FileNotFoundError:
                self._answered = True
                raise
            except OSError as error:
                if _GONE.search(str(error)):  # between the two requests that reading takes
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from error
                passing = self._answered and _PASSING.search(str(error)) and not _NO_BUCKET.search(str(error))
                if not passing or time.monotonic() - begun + pause > PATIENCE:
                    raise self._failed(path, done, error) from error
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                self._answered = True
                return found

    def _failed(self, path: str, done: str, error: OSError) -> BrittleError:
        why = _ADDED.sub("", str(error)).strip()
        for secret in filter(None, map(os.environ.get, _SECRETS)):
            why = why.replace(secret, "…")
        where, bucket = f"{self.scheme}://{path}", path.partition("/")[0]
        if _NO_BUCKET.search(why):
            return BrittleError(f"there is no bucket {self.scheme}://{bucket}", "Create it, or check the name.")
        if _REFUSED.search(why):
            return BrittleError(
                f"{where} can't be {done}: {why}",
                "Check the credentials in the environment and what they allow (docs/object-stores.md).",
            )
        return Failure(
            f"{where} can't be {done}: {why}",
            "Check the store and the network, and give the same command again; what is finished is kept.",
        )


class ObjectFile(io.RawIOBase):
    """An object of which only parts are read."""

    def __init__(self, store: Connection, path: str) -> None:
        self._store, self._path, self._at = store, path, 0
        self._file = store.ask(path, "read", lambda: store.system.open_input_file(path))
        self._size: int = self._file.size()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        at, left = self._at, max(0, self._size - self._at)
        count = left if size is None or size < 0 else min(size, left)
        found: bytes = self._store.ask(self._path, "read", lambda: self._file.read_at(count, at))
        self._at += len(found)
        return found


@functools.cache
def connection(scheme: str) -> Connection:
    """This process's connection to a sort of store."""
    return Connection(scheme, _s3() if scheme == "s3" else _gs())


def _s3() -> Any:
    settings: dict[str, Any] = {
        "background_writes": False,
        "connect_timeout": CONNECTING,
        "retry_strategy": fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
    }
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint:
        parts = urlsplit(endpoint)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise BrittleError(
                "AWS_ENDPOINT_URL is not an address such as https://minio.example:9000", "Fix it in the environment."
            )
        settings |= {"scheme": parts.scheme, "endpoint_override": parts.netloc}
    if region := os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"):
        settings["region"] = region
    try:
        return fs.S3FileSystem(**settings, allow_delayed_open=True)  # a small object is one request
    except TypeError:  # before pyarrow 21 it is three
        return fs.S3FileSystem(**settings)


def _gs() -> Any:
    settings: dict[str, Any] = {"retry_time_limit": timedelta(seconds=30)}
    endpoint = os.environ.get("STORAGE_EMULATOR_HOST")  # as Google's own libraries read it
    if endpoint:
        parts = urlsplit(endpoint if "://" in endpoint else f"http://{endpoint}")
        settings |= {"scheme": parts.scheme, "endpoint_override": parts.netloc, "anonymous": True}
    return fs.GcsFileSystem(**settings)
