"""Specs with wildcards, such as `timm:resnet*`: every classifier that matches and is on this machine. Nothing is
fetched for a wildcard."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from brittle.classifiers import classifiers
from brittle.errors import BrittleError
from brittle.files import real_path
from brittle.registry import options_of, parse_spec

WILD = re.compile(r"[*?]|\[.+\]")


@runtime_checkable
class Matching(Protocol):
    """A loader whose positional option may be a pattern."""

    def matching(self) -> list[str]:
        """What the pattern stands for on this machine, sorted."""
        ...


def expanded(spec: str) -> dict[str, str]:
    """What a spec stands for, by what the pattern matched; itself alone, under "", where it has no pattern."""
    parsed = parse_spec(spec)
    if not parsed.parts or not WILD.search(parsed.parts[0]) or Path(real_path(parsed.parts[0])).exists():
        return {"": spec}
    loader: Any = classifiers.build(spec)
    found = loader.matching() if isinstance(loader, Matching) else None
    if found is None:
        return {"": spec}
    if not found:
        raise BrittleError(
            f"{spec} matches no classifier that is on this machine",
            "Fetch some by their names first, or add pretrained=no for random weights.",
        )
    positional = next(field.name for field in options_of(type(loader)).values() if field.metadata.get("positional"))
    return {each: classifiers.spec_of(dataclasses.replace(loader, **{positional: each})) for each in found}
