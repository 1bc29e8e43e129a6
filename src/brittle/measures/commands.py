"""The commands of Brittle's own measures, found without importing the measures."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import brittle.measures
from brittle.commands import PANELS, Command


def built_in() -> Iterator[Command]:
    """`COMMAND` of every `brittle.measures.*.options`, by panel."""
    return iter(_by_panel())


@cache
def _by_panel() -> tuple[Command, ...]:
    found: list[Command] = []
    for package in (path for home in brittle.measures.__path__ for path in Path(home).iterdir()):
        if (package / "options.py").is_file():
            options = importlib.import_module(f"{brittle.measures.__name__}.{package.name}.options")
            found += [each for each in vars(options).values() if isinstance(each, Command)]
    return tuple(sorted(found, key=lambda each: (PANELS.index(each.panel), each.measure)))
