"""Specs that were typed, checked by their kinds' source: what is misspelt is refused before torch is imported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from brittle.classifiers import classifiers
from brittle.errors import BrittleError, located
from brittle.files import read_toml
from brittle.images import image_sets
from brittle.measures import measures
from brittle.mixing import mixes
from brittle.nuisances import nuisances
from brittle.nuisances.suites import suite_of
from brittle.registry import Registry, did_you_mean
from brittle.registry.source import names_code
from brittle.registry.spec import parse_named
from brittle.samplers import samplers
from brittle.training import trainable

# By the name of an option whose value is a spec, and of a study's table of specs.
REGISTRIES: Mapping[str, Registry[Any]] = {
    "classifier": classifiers,
    "against": classifiers,
    "classifiers": classifiers,
    "images": image_sets,
    "train": image_sets,
    "test": image_sets,
    "mix_with": image_sets,
    "nuisance": nuisances,
    "nuisances": nuisances,
    "sampler": samplers,
    "network": trainable,
    "mix": mixes,
}
# Of a study.
KEYS = ("title", "seed", "precision", "compile", "classifiers", "images", "nuisances", "measures", "cluster")
ASKED = ("kind", "classifiers", "images", "nuisances", "reads")  # in a measure's table, beside its options
LIVE = "live:"  # what a run's own study says of Python objects


def check_spec(option: str, text: str) -> None:
    """Refuses a spec, or a named one, whose kind or options are wrong."""
    registry, spec = REGISTRIES[option], parse_named(text)[1]
    members = suite_of(spec) if registry is nuisances else None
    for each in [spec] if members is None else members.values():
        registry.check(each)


def check_study(path: str) -> None:
    """Refuses what is not a study file, or names what does not exist. What else may be wrong with it, whoever
    carries it out says."""
    data = read_toml(Path(path), "study file")
    for key in data:
        if key not in (*KEYS, *measures.names()) and not names_code(key):
            raise BrittleError(f"{path}: unknown key {key!r}", did_you_mean(key, [*KEYS, *measures.names()]))
    for name, entry in _measures(data):
        options = {key: value for key, value in entry.items() if key not in ASKED}
        with located(path if name == entry["kind"] else f"{path}: measures.{name}"):
            measures.check(entry["kind"], options)
    for sort in ("classifiers", "images", "nuisances"):
        for spec in _specs(data.get(sort)):
            if not spec.startswith(LIVE):
                check_spec(sort, spec)


def _measures(data: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The measures of a study by name, each with its kind; what is not a table is left for the schema to refuse."""
    for name, table in data.items():
        if name in measures.names() and isinstance(table, dict):
            yield name, {"kind": name, **table}
    named = data.get("measures")
    for name, entry in named.items() if isinstance(named, dict) else ():
        if isinstance(entry, dict) and isinstance(entry.get("kind"), str):
            yield name, entry


def _specs(entries: Any) -> Iterator[str]:
    """The specs in a table or a list of a study, which are texts or stand in tables of their own."""
    several = entries.values() if isinstance(entries, dict) else entries if isinstance(entries, list) else [entries]
    for entry in several:
        spec = entry.get("spec") if isinstance(entry, dict) else entry
        if isinstance(spec, str):
            yield spec
