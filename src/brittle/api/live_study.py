"""Studies written in Python, whose entries may be live objects: modules, functions, Datasets, nuisances."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from brittle.api.paths import given_classifier, given_images
from brittle.engine.assemble import Things
from brittle.engine.live import LIVE, nuisance_text, spec_text
from brittle.errors import BrittleError
from brittle.registry import parse_named
from brittle.study import Study


class Sort(NamedTuple):
    """How things of one sort are written into a study."""

    given: Callable[[Any], Any]  # a path → its spec
    text: Callable[[Any], str]


SORTS = {
    "classifiers": Sort(given_classifier, spec_text),
    "images": Sort(given_images, spec_text),
    "nuisances": Sort(lambda what: what, nuisance_text),
}


class LiveStudy(NamedTuple):
    """A study, and the things that it speaks of."""

    study: Study
    things: Things

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> LiveStudy:
        """From plain values in which any spec may be the thing itself instead."""
        plain, objects = dict(data), {}
        for name, sort in SORTS.items():
            if name in plain:
                plain[name], objects[name] = _written(_without_paths(plain[name], sort.given), sort.text)
        study = Study.of(plain)
        things = Things.of(study)
        sets = {name: (what, things.images[name][1]) for name, what in objects.get("images", {}).items()}
        return cls(
            study,
            replace(
                things,
                classifiers={**things.classifiers, **objects.get("classifiers", {})},
                images={**things.images, **sets},
                nuisances={**things.nuisances, **objects.get("nuisances", {})},
            ),
        )


def _without_paths(entries: Any, given: Callable[[Any], Any]) -> Any:
    """Entries with specs in place of paths."""
    if isinstance(entries, Mapping):
        return {name: _without_path(entry, given) for name, entry in entries.items()}
    several = isinstance(entries, (list, tuple))
    return [_without_path(entry, given) for entry in entries] if several else _without_path(entries, given)


def _without_path(entry: Any, given: Callable[[Any], Any]) -> Any:
    what = _what(entry)
    return _with(entry, given(what)) if isinstance(what, os.PathLike) else entry


def _written(entries: Any, text_of: Callable[[Any], str]) -> tuple[Any, dict[str, Any]]:
    """Entries as a study file has them, and the live objects among them, by name."""
    if isinstance(entries, str):
        return entries, {}
    if not isinstance(entries, Mapping):
        several = list(entries) if isinstance(entries, (list, tuple)) else [entries]
        if all(isinstance(_what(each), str) for each in several):
            return entries, {}
        entries = _by_name([_named(each, text_of) for each in several])
    live = {name: _what(entry) for name, entry in entries.items() if not isinstance(_what(entry), str)}
    texts = {name: text_of(what) for name, what in live.items()}
    return {name: _with(entry, texts[name]) if name in live else entry for name, entry in entries.items()}, live


def _by_name(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, entry in pairs:
        if name in found:
            raise BrittleError(
                f"two things in a list of the study are called {name!r}",
                f"Give them names of their own in a dictionary: {{{name!r}: …, 'other': …}}.",
            )
        found[name] = entry
    return found


def _named(entry: Any, text_of: Callable[[Any], str]) -> tuple[str, Any]:
    """What stands in a list is named by its spec, or by what a live object is called."""
    what = _what(entry)
    if isinstance(what, str):
        name, spec = parse_named(what)
        return name, _with(entry, spec)
    return text_of(what).removeprefix(LIVE).partition("#")[0], entry


def _what(entry: Any) -> Any:
    return entry.get("spec", "") if isinstance(entry, Mapping) else entry


def _with(entry: Any, spec: str) -> Any:
    return {**entry, "spec": spec} if isinstance(entry, Mapping) else spec
