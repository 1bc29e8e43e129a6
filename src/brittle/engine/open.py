"""Opening studies: from a file, or from Python values in which live objects may stand in place of specs.

What a study file refers to in other files (suites, lists of ids) and on this machine (wildcards) is replaced by what it
stands for: the run's own study no longer depends on them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from brittle.classifiers.model_files import path_spec as classifier_spec
from brittle.classifiers.wildcards import expanded as matching_classifiers
from brittle.engine.inputs import Inputs
from brittle.engine.live_objects import LIVE, nuisance_text, spec_text
from brittle.errors import BrittleError, located
from brittle.files import printable, read_toml
from brittle.images import path_spec as images_spec
from brittle.images.id_list import ids_of
from brittle.nuisances.suites import chosen, expanded
from brittle.registry import parse_named
from brittle.study import Study, by_name


class StudyTable(NamedTuple):
    """How one of a study's tables is filled from Python."""

    of_path: Callable[[Any], Any]  # a path → the spec of what lies there
    text: Callable[[Any], str]  # what a study file says of an object


def classifier_at(what: Any) -> Any:
    """The spec of a classifier that lies at a path; anything else as it is."""
    return classifier_spec(printable(os.fspath(what))) if isinstance(what, os.PathLike) else what


def images_at(what: Any) -> Any:
    """The same of an image set."""
    return images_spec(printable(os.fspath(what))) if isinstance(what, os.PathLike) else what


TABLES = {
    "classifiers": StudyTable(classifier_at, spec_text),
    "images": StudyTable(images_at, spec_text),
    "nuisances": StudyTable(lambda what: what, nuisance_text),
}


def open_inputs(what: Inputs | Study | str | Path | Mapping[str, Any]) -> Inputs:
    """A study, a study file, or plain values in which any spec may be the object itself."""
    if isinstance(what, Inputs):
        return what
    if isinstance(what, Study):
        return Inputs(what)
    if not isinstance(what, Mapping):
        return Inputs(open_study(read_toml(Path(what), "study file"), str(what)))
    plain, objects = dict(what), {}
    for name, table in TABLES.items():
        if name in plain:
            plain[name], objects[name] = _written(_without_paths(plain[name], table.of_path), table.text)
    return Inputs(open_study(plain), objects)


def open_study(data: Mapping[str, Any], where: str = "the study") -> Study:
    """A study from the values of a study file."""
    return Study.of(_without_references(dict(data), where), where)


def _without_references(data: dict[str, Any], where: str) -> dict[str, Any]:
    """With ids, members and matches in place of the files, suites and wildcards that stand for them. What does not have
    the form of a study is left for the schema to refuse."""
    steps: dict[str, Callable[[Any], Any]] = {
        "images": _without_files_of_ids,
        "classifiers": _without_wildcards,
        "nuisances": _without_suites,
    }
    for key, replaced in steps.items():
        try:
            table = by_name(data.get(key))
            if isinstance(table, dict):
                with located(f"{where}: {key}"):
                    data[key] = replaced(table)
        except ValueError as error:
            raise BrittleError(f"{where}: {key}: {error}", "Fix that value.") from error
    spaces = data.get("nuisances", {})
    if isinstance(spaces, dict):
        for name, entry in data.items():
            if name not in Study.model_fields:
                data[name] = _with_members(entry, spaces)
        if isinstance(data.get("measures"), dict):
            data["measures"] = {name: _with_members(entry, spaces) for name, entry in data["measures"].items()}
    return data


def _without_files_of_ids(entries: dict[str, Any]) -> dict[str, Any]:
    def listed(entry: Any) -> Any:
        given = entry.get("ids") if isinstance(entry, dict) else None
        return {**entry, "ids": ids_of(given)} if isinstance(given, str) else entry

    return {name: listed(entry) for name, entry in entries.items()}


def _without_wildcards(entries: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, entry in entries.items():
        written = _spec_of(entry)
        several = matching_classifiers(written) if isinstance(written, str) and written else {"": written}
        for each, spec in several.items():
            found[name if not each else spec if name == written else f"{name}-{each}"] = (
                _with_spec(entry, spec) if each else entry
            )
    return found


def _without_suites(entries: dict[str, Any]) -> dict[str, Any]:
    return expanded(entries) if all(isinstance(spec, str) for spec in entries.values()) else entries


def _with_members(entry: Any, spaces: Mapping[str, str]) -> Any:
    """Where a measure is restricted to a suite of the study, to its members."""
    names = entry.get("nuisances") if isinstance(entry, dict) else None
    if not isinstance(names, (list, tuple)) or not names or not all(isinstance(name, str) for name in names):
        return entry
    return {**entry, "nuisances": chosen(names, spaces)}


def _without_paths(entries: Any, of_path: Callable[[Any], Any]) -> Any:
    """Entries with specs in place of paths."""

    def without(entry: Any) -> Any:
        what = _spec_of(entry)
        return _with_spec(entry, of_path(what)) if isinstance(what, os.PathLike) else entry

    if isinstance(entries, Mapping):
        return {name: without(entry) for name, entry in entries.items()}
    return [without(entry) for entry in entries] if isinstance(entries, (list, tuple)) else without(entries)


def _written(entries: Any, text_of: Callable[[Any], str]) -> tuple[Any, dict[str, Any]]:
    """Entries as a study file has them, and the live objects among them, by name."""
    if isinstance(entries, str):
        return entries, {}
    if not isinstance(entries, Mapping):
        several = list(entries) if isinstance(entries, (list, tuple)) else [entries]
        if all(isinstance(_spec_of(each), str) for each in several):
            return entries, {}
        entries = _each_named([_named(each, text_of) for each in several])
    live = {name: _spec_of(entry) for name, entry in entries.items() if not isinstance(_spec_of(entry), str)}
    texts = {name: text_of(what) for name, what in live.items()}
    return {name: _with_spec(entry, texts[name]) if name in live else entry for name, entry in entries.items()}, live


def _each_named(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
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
    what = _spec_of(entry)
    if isinstance(what, str):
        name, spec = parse_named(what)
        return name, _with_spec(entry, spec)
    return text_of(what).removeprefix(LIVE).partition("#")[0], entry


def _spec_of(entry: Any) -> Any:
    return entry.get("spec", "") if isinstance(entry, Mapping) else entry


def _with_spec(entry: Any, spec: Any) -> Any:
    return {**entry, "spec": spec} if isinstance(entry, Mapping) else spec
