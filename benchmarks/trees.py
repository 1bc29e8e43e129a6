"""Two commits side by side: a folder that holds the source of one, and the environment in which it is what runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
WORKING_TREE = "working tree"


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """The folder of a commit, in a temporary git worktree; of WORKING_TREE, the repository as it stands. A folder
    stands for itself, where there is no repository to take a commit from."""
    if commit == WORKING_TREE or Path(commit).is_dir():
        yield REPOSITORY if commit == WORKING_TREE else Path(commit).resolve()
        return
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # the worktree goes then, too
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        git("worktree", "add", "--quiet", "--detach", str(tree), full_hash(commit))
        try:
            yield tree
        finally:
            git("worktree", "remove", "--force", str(tree))


def full_hash(commit: str) -> str:
    if Path(commit).is_dir():
        return str(Path(commit).resolve())
    try:
        return git("rev-parse", "--verify", f"{commit}^{{commit}}")
    except subprocess.CalledProcessError:
        raise SystemExit(f"{commit} is not a commit of {REPOSITORY}") from None


def git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout.strip()


def environment(tree: Path, threads: int | None = None) -> dict[str, str]:
    """In which `import brittle` finds that tree's source, whatever is installed."""
    found = os.environ | {"PYTHONPATH": os.pathsep.join((str(tree / "src"), os.environ.get("PYTHONPATH", "")))}
    return found if threads is None else found | {"OMP_NUM_THREADS": str(threads)}
