"""Which commit the current folder is at, and whether it has been changed since. The folder may be anybody's, so nothing
of it is run: the commit is read without git, and git looks for changes with a configuration of ours alone.

A repository's configuration names programs in more places than can be listed (filters, monitors, hooks, converters,
included files), so none of it is read: git is given a folder of its own in place of `.git`, and borrows the objects
and the index.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
MOST_LINKS = 5  # from one reference to the next
MOST_BYTES = 1 << 24  # of packed-refs: 200,000 references
SECONDS = 10
# Whether a file can be executed changes no numbers, and some file systems don't know.
OURS = "[core]\n\trepositoryformatversion = {version}\n\tbare = false\n\tfileMode = false\n{extensions}"


class Repository(NamedTuple):
    """Where a checkout keeps what git knows of it."""

    top: Path
    own: Path  # HEAD and index
    shared: Path  # objects and references: in a worktree those of the repository it belongs to


def git_state() -> dict[str, Any] | None:
    """The commit, and whether anything differs from it (None where git can't tell); None outside of a repository."""
    try:
        found = _repository(Path.cwd())
    except OSError:  # the current folder is gone, or may not be looked into
        return None
    commit = "" if found is None else _commit(found)
    return {"commit": commit, "changed": _changed(found, commit)} if found is not None and commit else None


def _repository(here: Path) -> Repository | None:
    for top in (here, *here.parents):
        own = top / ".git"
        if own.is_file():
            own = top / _text(own).removeprefix("gitdir:").strip()
        if (own / "HEAD").is_file():
            return Repository(top, own, own / (_text(own / "commondir") or "."))
    return None


def _commit(found: Repository) -> str:
    """What HEAD stands for; "" where it stands for nothing yet, or is kept in a way that only git can read."""
    said = _text(found.own / "HEAD")
    for _ in range(MOST_LINKS):
        if HASH.fullmatch(said):
            return said
        name = said.removeprefix("ref:").strip()
        if not name.startswith("refs/") or ".." in name:
            return ""
        said = _text(found.own / name) or _text(found.shared / name) or _packed(found.shared / "packed-refs", name)
    return ""


def _packed(file: Path, name: str) -> str:
    rows = (line.split(" ", 1) for line in _text(file).splitlines())
    return next((row[0] for row in rows if len(row) == 2 and row[1] == name), "")


def _text(file: Path) -> str:
    """A small text file; "" where there is none."""
    try:
        if not file.is_file():
            return ""
        with file.open("rb") as stream:
            return stream.read(MOST_BYTES).decode(errors="replace").strip()
    except (OSError, ValueError):  # no permission; a name with a null
        return ""


def _changed(found: Repository, commit: str) -> bool | None:
    git = shutil.which("git")
    if git is None or not os.path.isabs(git):  # a relative one may be the folder's own
        return None
    long = len(commit) > 40
    extensions = "[extensions]\n\tobjectFormat = sha256\n" if long else ""
    with tempfile.TemporaryDirectory(prefix="brittle-git-") as folder:
        (Path(folder) / "refs").mkdir()
        (Path(folder) / "HEAD").write_text(f"{commit}\n")
        (Path(folder) / "config").write_text(OURS.format(version=int(long), extensions=extensions))
        ignored = found.shared / "info" / "exclude"
        if ignored.is_file():
            (Path(folder) / "info").mkdir()
            (Path(folder) / "info" / "exclude").write_text(_text(ignored))
        return _differs(git, found, folder)


def _differs(git: str, found: Repository, folder: str) -> bool | None:
    plain = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name == "GIT_EXEC_PATH"
    }
    try:
        done = subprocess.run(
            [git, "status", "--porcelain", "--ignore-submodules=all"],
            cwd=found.top,
            env=plain
            | {
                "GIT_DIR": folder,
                "GIT_WORK_TREE": str(found.top),
                "GIT_INDEX_FILE": str(found.own.absolute() / "index"),
                "GIT_OBJECT_DIRECTORY": str(found.shared.absolute() / "objects"),
                "GIT_CONFIG_GLOBAL": os.devnull,
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_OPTIONAL_LOCKS": "0",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return bool(done.stdout.strip()) if done.returncode == 0 else None
