"""The commands of Brittle's own measures, found without importing the measures."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterator
from functools import cache

import brittle.measures
from brittle.commands import PANELS, Command


def built_in() -> Iterator[Command]:
    """`COMMAND` of every `brittle.measures.*.options`, by panel."""
    return iter(_by_panel())


@cache
def _by_panel() -> tuple[Command, ...]:
    found = []
    for module in pkgutil.iter_modules(brittle.measures.__path__, "brittle.measures."):
        name = f"{module.name}.options"
        if module.ispkg and importlib.util.find_spec(name) is not None:
            command = getattr(importlib.import_module(name), "COMMAND", None)
            if command is not None:
                found.append(command)
    return tuple(sorted(found, key=lambda each: (PANELS.index(each.panel), each.measure)))
