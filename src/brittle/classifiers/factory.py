"""Finds what a user names as `package.module:factory` or `path/to/file.py:factory`."""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from brittle.classifiers.base import first_line, no_file
from brittle.errors import BrittleError, users_line
from brittle.registry import did_you_mean

WORDS = {"true": True, "false": False, "none": None}
SHAPE = "Write package.module:name or path/to/file.py:name."


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


def make(target: str, finished: Callable[[Any], bool], arguments: Sequence[str] = ()) -> Any:
    """What the factory named by `target` returns for arguments such as "classes=10"; an object that is already
    `finished` is returned itself."""
    found, given = resolve(target), dict(argument(each) for each in arguments)
    if finished(found) or not callable(found):
        if given:
            raise BrittleError(f"{target} is not a function and takes no arguments", "Leave them out.")
        return found
    try:
        return found(**given)
    except BrittleError:
        raise
    except Exception as error:
        raise BrittleError(
            f"{target} failed: {type(error).__name__}: {first_line(error)}{_line(error)}",
            "Give the arguments it takes." if given else "It must work without arguments, or be given arguments=….",
        ) from error


def argument(text: str) -> tuple[str, int | float | bool | str | None]:
    """`name=value` → name and value: a number, true, false or none where it is written like one, and text otherwise."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name.isidentifier():
        raise BrittleError(f"{text!r} is not an argument", "Write name=value, and / between two of them.")
    if value.lower() in WORDS:
        return name, WORDS[value.lower()]
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            pass
    return name, value


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise no_file(path, "*.py")
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


def _broken(what: str, error: Exception) -> BrittleError:
    return BrittleError(
        f"{what} can't be imported: {type(error).__name__}: {first_line(error)}{_line(error)}",
        "Fix it, or install what it needs.",
    )


def _line(error: Exception) -> str:
    where = users_line(error)
    return f" ({where})" if where else ""
