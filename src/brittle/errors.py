"""The one kind of error a user sees: what is wrong, what to do about it, and an exit status."""

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager

_OURS = os.path.dirname(__file__) + os.sep


class BrittleError(Exception):
    """A mistake the user can fix: one line that says what is wrong, and the remedy. Exit status 2."""

    exit_status = 2

    def __init__(self, what: str, remedy: str = "") -> None:
        self.what, self.remedy = what, remedy
        said = f"{what.rstrip('.')}. {remedy}".strip() if remedy else what
        super().__init__(" ".join(said.splitlines()))  # names that are quoted may have several lines

    def __reduce__(self) -> tuple[type["BrittleError"], tuple[str, str]]:
        return type(self), (self.what, self.remedy)


@contextmanager
def located(where: str) -> Iterator[None]:
    """Has mistakes that are found within say where they stand."""
    try:
        yield
    except BrittleError as error:
        raise BrittleError(f"{where}: {error.what}", error.remedy) from error


class BrittleWarning(UserWarning):
    """Something that a reader of the numbers must know."""


class Failure(BrittleError):
    """Something failed that was not a mistake in the user's input: a full disk, NaN outputs. Exit status 1."""

    exit_status = 1


class MissingPackage(BrittleError):
    """An optional package is needed but not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self._arguments = (package, extra, purpose)
        super().__init__(f"{purpose} needs the package {package!r}", f"Install it with: {install_command(extra)}")

    def __reduce__(self) -> tuple[type["MissingPackage"], tuple[str, str, str]]:  # type: ignore[override]
        return type(self), self._arguments


def install_command(extra: str) -> str:
    """What installs an extra, given how Brittle itself was installed: from a clone, or by its name."""
    import importlib.metadata  # only where something is missing
    import json
    import shlex
    from urllib.parse import unquote, urlsplit

    try:
        origin = json.loads(importlib.metadata.distribution("brittle").read_text("direct_url.json") or "{}")
    except (importlib.metadata.PackageNotFoundError, ValueError):
        origin = {}
    url = urlsplit(origin.get("url", ""))
    if "dir_info" not in origin or url.scheme != "file":
        return f"pip install 'brittle[{extra}]'"
    folder = unquote(url.path)
    tested = os.path.join(folder, "constraints.txt")
    words = ["pip", "install", *(["-c", tested] if os.path.isfile(tested) else [])]
    words += ["-e"] if origin["dir_info"].get("editable") else []
    return f"{shlex.join(words)} '{folder}[{extra}]'"


class ForeignError(Failure):
    """Code that is not Brittle's own failed: a classifier, a nuisance, a module that a spec names."""


def foreign(who: str, error: BaseException) -> ForeignError:
    """The error for what somebody's code raised: whose it is, what it said, in which line."""
    ended = isinstance(error, SystemExit)
    said = (str(error).strip().splitlines() or [""])[0].rstrip(".:")
    what = f"ended the program (exit status {said or 0})" if ended else f"raised {type(error).__name__}: {said}"
    where = users_line(error)
    return ForeignError(
        f"{who} {what.rstrip(': ')}{f' ({where})' if where else ''}",
        "Fix it there; BRITTLE_TRACEBACK=1 shows the whole traceback.",
    )


def users_line(error: BaseException) -> str:
    """The last line of the user's own code on the way to an error: "net.py, line 12"; "" where none is involved."""
    import traceback  # only where something went wrong

    frames = traceback.extract_tb(error.__traceback__)
    found = next((frame for frame in reversed(frames) if is_users(frame.filename)), None)
    return "" if found is None else f"{found.filename}, line {found.lineno}"


def is_users(file: str) -> bool:
    """Whether a source file is neither ours nor an installed package's."""
    return not file.startswith((_OURS, *_installed(), "<frozen")) and f"{os.sep}site-packages{os.sep}" not in file


@functools.cache
def _installed() -> tuple[str, ...]:
    """Where packages are installed, and Python's own."""
    import sysconfig  # which loads a module named after the platform

    paths = sysconfig.get_paths()
    return tuple(paths[key] + os.sep for key in ("stdlib", "platstdlib", "purelib", "platlib"))
