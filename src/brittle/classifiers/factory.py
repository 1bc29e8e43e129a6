"""Calls what a user names as `package.module:factory` or `path/to/file.py:factory`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from brittle.errors import BrittleError
from brittle.libraries import first_line
from brittle.registry.arguments import argument
from brittle.registry.source import line_of, resolve

__all__ = ["make", "resolve"]


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
            f"{target} failed: {type(error).__name__}: {first_line(error)}{line_of(error)}",
            "Give the arguments it takes." if given else "It must work without arguments, or be given arguments=….",
        ) from error
