"""What workers on other machines need of this one. What a study names by a relative path, and the user's modules below
the current folder, are sent with Ray's runtime environment, in which workers then start; what it names by an absolute
path must be on every node, where that is looked at before work begins.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from brittle.engine.hashes.file_hash import with_external_data
from brittle.errors import BrittleError, is_users
from brittle.files import real_path
from brittle.study import Study

MOST_SENT = 100 << 20  # bytes: Ray keeps what is sent in the memory of the head
PACKAGES = ("torch", "numpy", "pyarrow", "pydantic")  # that no worker does without
_BETWEEN = re.compile(r"(?<!\\)[,=+:|]")


class NodeReport(NamedTuple):
    """What a node says of itself."""

    missing: Sequence[str]  # paths
    versions: Mapping[str, str]
    marker: str | None  # what stands in a file of the run folder


def stage(study: Study, to: Path) -> Path:
    """A folder of what is to be sent, laid out as the files lie below the current folder."""
    here = Path.cwd()
    files = dict.fromkeys(file for path in paths_in(study) if not path.is_absolute() for file in _whole(path))
    files |= dict.fromkeys(path.relative_to(here) for path in _modules() if path.is_relative_to(here))
    total = 0
    for path in (each for each in files if ".." not in each.parts):
        total += path.stat().st_size
        if total > MOST_SENT:
            raise BrittleError(
                f"what the study names by relative paths is more than the {MOST_SENT >> 20} MB that are sent to "
                f"workers ({path} is part of it)",
                "Name large files and folders by absolute paths, on storage that all nodes share.",
            )
        (to / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to / path)
    return to


def paths_in(study: Study) -> Iterator[Path]:
    """The files and folders that a study names."""
    for text in _texts(study.resolved()):
        for number, token in enumerate(_BETWEEN.split(text)):
            path = Path(real_path(token.strip().replace("\\", "")))
            named = number > 0 or path.suffix == ".py" or path.is_absolute()
            if named and token.strip() and _exists(path):
                yield path


def report_of(paths: Sequence[str], marker: Path | None) -> NodeReport:
    """What a node has of some paths, and its versions; carried out there. The marker is a file of the run folder that
    only this run has written, where that lies on a disk."""
    return NodeReport([path for path in paths if not os.path.exists(path)], versions(), _content(marker))


def _content(marker: Path | None) -> str | None:
    try:
        return None if marker is None else marker.read_text()
    except OSError:
        return None


def versions() -> dict[str, str]:
    found = {"Python": ".".join(platform.python_version_tuple()[:2])}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name).partition("+")[0]
        except importlib.metadata.PackageNotFoundError:
            found[name] = "none"
    return found


def refuse_node(node: str, found: NodeReport, marker: Path | None) -> None:
    """Refuses a node that lacks what workers need there, in one line."""
    other = [f"{name} {there} (here {here})" for name, here in versions().items()
             if (there := found.versions[name]) != here]  # fmt: skip
    if other:
        raise BrittleError(f"the node {node} has {', '.join(other)}", "Install the same versions on all nodes.")
    if found.missing:
        raise BrittleError(
            f"the node {node} has no {found.missing[0]}",
            "Put it on storage that all nodes share, or name it by a path relative to this folder: then it is sent.",
        )
    if marker is not None and found.marker != _content(marker):
        raise BrittleError(
            f"the node {node} does not see the run folder {marker.parent}",
            "Choose --out on storage that all nodes share.",
        )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _whole(path: Path) -> Iterator[Path]:
    """The files that a path stands for, with those that an ONNX file keeps its weights in."""
    if path.is_dir():
        yield from (each for each in sorted(path.rglob("*")) if each.is_file())
    else:
        yield from with_external_data(str(path)) if path.suffix.lower() == ".onnx" else [path]


def _modules() -> Iterator[Path]:
    """The files of the user's own modules that have been imported."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and file.endswith(".py") and is_users(file) and Path(file).is_file():
            yield Path(file).resolve()
