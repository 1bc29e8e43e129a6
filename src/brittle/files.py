"""Files that either exist in full or not at all, and names of files that are not text."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import tomllib
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path
from typing import Any

from brittle.errors import BrittleError, Failure

FULL = (errno.ENOSPC, errno.EDQUOT)
BROKEN = (*FULL, errno.EIO)  # whatever the user had named
REMEDIES = {
    errno.ENAMETOOLONG: "Choose a shorter name.",
    errno.EROFS: "Make the disk writable, or choose a place on another.",
    errno.EACCES: "Check the permissions of file and folder.",
    errno.EPERM: "Check the permissions of file and folder.",
}
REMOVED_MEANWHILE = 3  # times that another process may tidy up what is being written
_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")
_HALF_WRITTEN = re.compile(r"(.+)\.\d+\.tmp")


def printable(path: str) -> str:
    """A path as text that can be stored and shown: bytes that are not UTF-8 become \\xe9 and the like."""
    try:
        return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # half of a character, which no file is named by
        return path.encode("utf-8", "backslashreplace").decode()


def real_path(text: str) -> str:
    """The path that `printable` text stands for: as it is where that exists, or else with its bytes put back."""
    if "\\x" not in text or os.path.lexists(text):
        return text
    return os.fsdecode(_ESCAPED.sub(lambda match: bytes([int(match[1], 16)]), os.fsencode(text)))


def size_of(file: Path) -> int:
    """The bytes of a regular file. Anything else that has a name, such as a pipe or a device, may never end."""
    try:
        found = file.stat()
    except FileNotFoundError:
        raise BrittleError(f"there is no file {file}", "Check the path.") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BrittleError(f"{file} can't be read: {why}", "Name a readable file.") from error
    if not stat.S_ISREG(found.st_mode):
        what = "a folder" if stat.S_ISDIR(found.st_mode) else "a pipe or a device"
        raise BrittleError(f"{file} can't be read: it is {what}", "Name a regular file.")
    return found.st_size


def unusable(path: Path | str, done: str, error: OSError) -> Failure:
    """What to say of a disk that failed: which file can't be read or written, why, and what to do."""
    if error.errno in FULL:
        return Failure(
            f"the disk is full: {path} can't be written",
            "Free some space and give the same command again; what is finished is kept.",
        )
    remedy = "Check the disk and give the same command again; what is finished is kept."
    why = os.strerror(error.errno) if error.errno else str(error)
    return Failure(f"{path} can't be {done}: {why}", REMEDIES.get(error.errno or 0, remedy))


def read_whole(path: Path) -> bytes:
    """A file's bytes. Where the disk fails, that is said: what can't be read is not what is damaged."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise unusable(path, "read", error) from error


def read_toml(path: Path, noun: str) -> dict[str, Any]:
    """The tables of a TOML file that a user wrote; `noun` is what it is for."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BrittleError(f"there is no {noun} {path}", "Check the path.") from None
    except OSError as error:
        raise BrittleError(f"the {noun} {path} can't be read: {error.strerror}", "Check the path.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BrittleError(f"{path} is not TOML: {error}", "Fix that line.") from error
    except RecursionError as error:
        raise BrittleError(f"{path} is nested too deeply", "Write tables and lists.") from error


def write_durably(path: Path, write: Callable[[Path], object]) -> None:
    """Writes under a temporary name, flushes to disk, renames: `path` never exists with only part of its content.

    `write` must raise OSError where it fails: libraries that open files themselves may not, and are given bytes."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    for last in (*[False] * REMOVED_MEANWHILE, True):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.unlink(missing_ok=True)  # a link of that name would be followed
            write(temporary)
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
            return
        except BaseException as error:
            with contextlib.suppress(OSError):  # the first thing that went wrong is the one to tell
                temporary.unlink(missing_ok=True)
            if isinstance(error, FileNotFoundError) and not last:
                continue  # another process took it for what a kill had left
            if isinstance(error, OSError):
                raise unusable(path, "written", error) from error
            raise


def half_of(name: str) -> str | None:
    """The file that was being written under this name; None where it is not such a name."""
    match = _HALF_WRITTEN.fullmatch(name)
    return match and match[1]


def make_complete(folder: Path, names: Sequence[str], contents: Iterable[bytes]) -> None:
    """Writes files of these names that are not there or hold something else, and removes what a kill left of them."""
    remove_half_written(folder, set(names))
    for name, content in zip(names, contents, strict=True):
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            write_durably(path, lambda to, content=content: to.write_bytes(content))  # type: ignore[misc]


def remove_half_written(folder: Path, names: Container[str]) -> None:
    """Removes what a kill left of files that were being written under these names, and nothing else."""
    if folder.is_dir():
        for each in list(folder.iterdir()):
            if half_of(each.name) in names and not each.is_dir():
                each.unlink(missing_ok=True)
