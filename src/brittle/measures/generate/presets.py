"""The paper's settings, read from `presets.toml`, and ImageNet's classes as they are called in prompts."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from brittle.imagenet import words

# What stands where neither a caller nor a preset says anything.
USUAL: Mapping[str, Any] = {
    "seeds": 20,
    "scales": (0.5, 1.0, 1.5, 2.0, 2.5),
    "steps": 50,
    "guidance": 1.0,
    "sampler": "own",
    "active": 0.75,
}


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads((resources.files(__package__) / "presets.toml").read_text(encoding="utf-8"))


def preset(name: str) -> dict[str, Any]:
    """The options that a preset gives, classes and labels among them."""
    entry = dict(_tables()[name])
    inherited = preset(entry.pop("like")) if "like" in entry else {}
    entry.pop("about")
    if "classes" in entry:
        entry |= _classes(entry["classes"])
    return inherited | {key: tuple(each) if isinstance(each, list) else each for key, each in entry.items()}


def about_presets() -> dict[str, str]:
    """What each preset is for."""
    return {name: entry["about"] for name, entry in _tables().items() if "about" in entry}


def _classes(which: str) -> dict[str, Any]:
    """Classes and their labels: some of ImageNet's by number, all of them, or others by name."""
    chosen = list(range(len(words()))) if which == "imagenet" else _tables()["classes"][which]
    if isinstance(chosen[0], str):
        return {"classes": tuple(chosen), "labels": tuple(range(len(chosen)))}
    names = imagenet_names()
    return {"classes": tuple(names[place] for place in chosen), "labels": tuple(chosen)}


@cache
def imagenet_names() -> tuple[str, ...]:
    """ImageNet's classes as prompts call them: the first of WordNet's words, each once."""
    own = {int(place): name for place, name in _tables()["names"].items()}
    return tuple(own.get(place, said[0].lower()) for place, said in enumerate(words().values()))
