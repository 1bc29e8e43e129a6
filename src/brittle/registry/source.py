"""What a user names as `package.module:name` or `path/to/file.py:name`: found, loaded, and known by its contents."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import pkgutil
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from brittle.errors import BrittleError, is_users, users_line
from brittle.files import real_path
from brittle.registry.options import did_you_mean

SHAPE = "Write package.module:name or path/to/file.py:name."
LONGEST = 300  # characters of somebody's error
_FILES = re.compile(r"(?:^|[+=:\s])([^+=,:\s][^+=,:]*\.py):")  # in a spec, or in several that are joined
_MODULES = re.compile(r"(?:^|[+=\s])(\w+(?:\.\w+)+):|:(\w+(?:\.\w+)*):")  # package.module:Class, function:module:name


def names_code(spec: str) -> bool:
    """Whether a spec begins with a Python file or a module, `package.module:name`."""
    place, colon, _ = spec.partition(":")
    dotted = "." in place and all(part.isidentifier() for part in place.split("."))
    return bool(colon) and (place.endswith(".py") or dotted)


def files_in(text: str) -> list[Path]:
    """The Python files that a spec names."""
    return [Path(real_path(found)) for found in _FILES.findall(text)]


def code_hash(text: str) -> str:
    """A hash of the contents of the Python files that a spec names, and of the files of the user's modules, which have
    been imported; "" where it names none that is there."""
    found = [path.read_bytes() for path in (*files_in(text), *_module_files(text)) if path.is_file()]
    return hashlib.blake2b(b"\0".join(found), digest_size=12).hexdigest() if found else ""


def _module_files(text: str) -> list[Path]:
    modules = (sys.modules.get(dotted or plain) for dotted, plain in _MODULES.findall(text))
    files = (getattr(module, "__file__", None) or "" for module in modules)
    return [Path(file) for file in files if file and is_users(file)]


def resolve(target: str) -> Any:
    """The object that `target` names. The current folder, or the file's own, becomes importable, after all others."""
    place, colon, name = target.rpartition(":")
    if not colon or not place or not name:
        raise BrittleError(f"{target!r} doesn't name anything in a module", SHAPE)
    module = _from_file(Path(place)) if place.endswith(".py") else _from_package(place)
    try:
        found: Any = module
        for part in name.split("."):
            found = getattr(found, part)
    except AttributeError:
        public = [word for word, value in vars(module).items() if not word.startswith("_") and callable(value)]
        raise BrittleError(f"{place} has no {name!r}", did_you_mean(name, public)) from None
    return found


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        near = [str(other) for other in path.parent.glob("*.py")]
        remedy = did_you_mean(str(path), near) if near else "Check the path."
        raise BrittleError(f"there is no file {path}", remedy)
    _importable(path.parent)
    name = f"brittle_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise _broken(str(path), error) from error
    return module


def _from_package(name: str) -> ModuleType:
    _importable(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(error.name + ".")):
            raise _broken(name, error) from error
        parent, _, _ = error.name.rpartition(".")
        near = _siblings(parent)
        remedy = did_you_mean(error.name, near) if near else SHAPE
        raise BrittleError(f"there is no module {error.name!r}", remedy) from None
    except Exception as error:
        raise _broken(name, error) from error


def _siblings(parent: str) -> list[str]:
    path = sys.modules[parent].__path__ if parent in sys.modules else [os.getcwd()]
    return [f"{parent}.{found.name}" if parent else found.name for found in pkgutil.iter_modules(path)]


def _importable(folder: Path) -> None:
    text = str(folder.resolve())
    if text not in sys.path:
        sys.path.append(text)  # at the front, a rich.py of theirs would be imported in place of the real one


def _first_line(error: BaseException) -> str:
    text = (str(error).strip().splitlines() or [type(error).__name__])[0].strip().rstrip(".:")
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _broken(what: str, error: Exception) -> BrittleError:
    return BrittleError(
        f"{what} can't be imported: {type(error).__name__}: {_first_line(error)}{line_of(error)}",
        "Fix it, or install what it needs.",
    )


def line_of(error: Exception) -> str:
    where = users_line(error)
    return f" ({where})" if where else ""
