"""Which code loading a study would run: every kind says of itself whether its specs name some (`runs_code`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from brittle.classifiers import classifiers
from brittle.errors import BrittleError
from brittle.images import image_sets
from brittle.measures import measures
from brittle.nuisances import nuisances
from brittle.registry import Registry, options_of
from brittle.registry.source import names_code
from brittle.registry.spec import summands
from brittle.study import MeasureEntry


def code_run_by(study: Mapping[str, Any]) -> list[str]:
    """The things of a resolved study that may run code which it names, as `name (spec)`. None of it is run."""
    found = [
        f"{name} ({spec})"
        for registry, specs in (
            (nuisances, study.get("nuisances", {})),
            (image_sets, _specs(study["images"])),
            (classifiers, _specs(study["classifiers"])),
        )
        for name, spec in specs.items()
        if _runs_code(registry, str(spec))
    ]
    for name, entry in study["measures"].items():
        options = {key: value for key, value in entry.items() if key not in MeasureEntry.model_fields}
        if code := first_code_in(entry) or (entry["kind"] if measures.runs_code(entry["kind"], options) else ""):
            found.append(f"{name} ({code})")
    return found


def first_code_in(value: Any) -> str:
    """The first text in a measure's entry that names code, if any does; it may be one of several in a list."""
    if isinstance(value, str):
        return value if any(map(names_code, summands(value))) else ""
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return next(filter(None, map(first_code_in, inside)), "")


def _specs(entries: Mapping[str, Any]) -> dict[str, str]:
    return {name: entry["spec"] for name, entry in entries.items()}


def _runs_code(registry: Registry[Any], spec: str) -> bool:
    return registry.runs_code(spec) or any(_runs_code(image_sets, each) for each in _inner_sets(registry, spec))


def _inner_sets(registry: Registry[Any], spec: str) -> Iterator[str]:
    """The specs of image sets that options of a spec hold."""
    for each in summands(spec) if registry is nuisances else [spec]:
        try:
            made = registry.build(each)
        except BrittleError:  # it can't be loaded
            continue
        for field in options_of(type(made)).values():
            value = getattr(made, field.name)
            if field.metadata.get("image_set") and isinstance(value, str):
                yield value
