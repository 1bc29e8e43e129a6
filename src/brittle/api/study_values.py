"""What a caller asks for, as the values of a study: the one way from arguments, and from what was typed, to a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from brittle.commands import Command
from brittle.engine.open import images_at
from brittle.errors import BrittleError
from brittle.images import image_set, in_scales
from brittle.images.id_list import ids_of
from brittle.measures import measures as kinds
from brittle.measures.base import Measure
from brittle.nuisances.suites import by_name
from brittle.registry import did_you_mean
from brittle.registry.options import hints_of, options_of
from brittle.registry.spec import parse_named
from brittle.study import DEFAULT, options_as_values

THE_CLASSIFIER = "classifier"  # the name of the only one


def values_of_run(given: Mapping[str, Any]) -> dict[str, Any]:
    """The study behind `brittle.run` with things and measures."""
    return _study_values(given, image_sets(given["images"]), measure_entries(given["measures"] or DEFAULT))


def values_for_command(command: Command, given: Mapping[str, Any]) -> dict[str, Any]:
    """The study behind a function or a command for one measure, and those that it is derived from."""
    sets, ids = image_sets(given["images"]), _ids(given)
    needs_nuisance = command.nuisance == "required" and not any(map(_brings_shifts, sets.values()))
    if needs_nuisance and not by_name(given["nuisances"]):
        raise BrittleError("no nuisance is given", "Name one, such as affine:alpha=50 (--nuisance affine:alpha=50).")
    own = options_for(command.options, given)
    if command.images_option is not None:
        own[command.images_option] = len(ids) or given["count"] or len(image_set(*sets.values()))
    read = {
        kind: {"kind": kind, **options_for(options, given, without=command.unread)}
        for kind, options in command.reads.items()
    }
    others: dict[str, Any] = {}
    if command.other_images is not None:
        others = _other_images(own, command.other_images, given[command.other_images], sets)
        read = {kind: {**entry, "images": tuple(sets)} for kind, entry in read.items()}
    # A default number of images does not cut short the ids that were asked for.
    count = None if ids and given["count"] == command.images else given["count"]
    entries = read | {command.measure: {"kind": command.measure, **own}}
    values = _study_values({**given, "ids": ids, "count": count}, sets, entries)
    return values | {"images": {**values["images"], **others}}


def _study_values(
    given: Mapping[str, Any], sets: Mapping[str, Any], measures: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """The values of a study, in which any spec may be the object itself."""
    spaces = by_name(given.get("nuisances"))
    meant = {"nuisances": tuple(spaces)} if spaces and any(map(_brings_shifts, sets.values())) else {}
    return {
        **{key: given[key] for key in ("seed", "precision", "compile")},
        "classifiers": _described(
            _classifiers(given["classifiers"]), given.get("groups") or {}, given.get("attributes") or {}
        ),
        "images": _chosen(sets, given),
        "nuisances": spaces,
        # Image sets in scales have their shifts in place of a study's nuisances; here those that are given are meant.
        "measures": {name: {**meant, **entry} for name, entry in measures.items()},
    }


def _other_images(options: dict[str, Any], key: str, given: Any, sets: Mapping[str, Any]) -> dict[str, Any]:
    """The image set that an option of a measure is about, by the name that the option then holds."""
    options.pop(key, None)
    if given is None or given == "":
        return {}
    ((name, what),) = image_sets(given).items()
    options[key] = name if name not in sets else f"{name} ({key})"
    return {options[key]: {"spec": what}}


def options_for(kind: type, arguments: Mapping[str, Any], without: Sequence[str] = ()) -> dict[str, Any]:
    """The options of a dataclass among some arguments; what is None is left to its default, and a single value stands
    for a list of one."""
    hints, found = hints_of(kind), {}
    for key, field in options_of(kind).items():
        value = arguments.get(field.name)
        if value is None or field.name in without:
            continue
        if hints[field.name] == tuple[str, ...]:
            several = value if isinstance(value, (list, tuple, set)) else [value]
            value = tuple(map(str, several))
        elif isinstance(value, (int, float)) and str(hints[field.name]).startswith("tuple"):
            value = (value,)
        found[key] = value
    return found


def refuse_empty_result(summary: Mapping[str, Any], measure: str) -> None:
    """Where a measure alone was asked for and has no result, its reason is more use than an empty table."""
    if summary["measures"][measure].get("results") == []:
        reason = next((text for text in summary["warnings"] if text.startswith(measure)), "there is nothing to measure")
        raise BrittleError(reason, "Choose other images, such as by a condition (where).")


def measure_entries(asked: Any) -> dict[str, dict[str, Any]]:
    """Measures as callers give them, by name: a dataclass such as `Robustness(samples=50)`, a spec such as
    "weak-points:count=20", several of these in a list, or by name in a dictionary."""
    if isinstance(asked, Mapping):
        return {name: _entry(each) for name, each in asked.items()}
    found: dict[str, dict[str, Any]] = {}
    for each in asked if isinstance(asked, (list, tuple)) else [asked]:
        entry = _entry(each)
        if entry["kind"] in found:
            raise BrittleError(
                f"two measures are called {entry['kind']!r}",
                "Give them names of their own in a dictionary: {'first': …, 'second': …}.",
            )
        found[entry["kind"]] = entry
    return found


def _entry(asked: Any) -> dict[str, Any]:
    if isinstance(asked, Mapping):
        return dict(asked)
    if isinstance(asked, str):
        asked, kind = kinds.build(asked), kinds.parsed(asked).kind
    elif isinstance(asked, Measure):
        kind = kinds.name_of(asked)
        kind = kind if kind in kinds.names() else f"{type(asked).__module__}:{type(asked).__qualname__}"
    else:
        called = str(getattr(asked, "__name__", ""))
        kind = called.replace("_", "-")
        made = f"{called}()" if isinstance(asked, type) else repr(kind) if kind in kinds.names() else "'clean'"
        raise BrittleError(f"{asked!r} is not a measure", f"Give {made}, Robustness(samples=50) or another spec.")
    return {"kind": kind, **{key: value for key, value in options_as_values(asked).items() if value is not None}}


def _classifiers(given: Any) -> dict[str, Any]:
    """Classifiers by name: a dictionary of them, or the only one."""
    if isinstance(given, (list, tuple)):
        raise BrittleError("the classifiers have no names", "Give a dictionary: {'mine': …, 'theirs': …}.")
    if isinstance(given, Mapping) and not given:
        raise BrittleError("no classifier is given", "Give a dictionary with at least one: {'mine': …}.")
    return dict(given) if isinstance(given, Mapping) else {THE_CLASSIFIER: given}


def _described(
    classifiers: Mapping[str, Any], groups: Mapping[str, str], attributes: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Classifiers with what is said of them."""
    for what, named in (("groups", groups), ("attributes", attributes)):
        stranger = next((name for name in named if name not in classifiers), None)
        if stranger is not None:
            raise BrittleError(
                f"{what} names {stranger!r}, which is not a classifier", did_you_mean(stranger, classifiers)
            )
    return {
        name: {**attributes.get(name, {}), "spec": what, "group": groups.get(name, "")}
        for name, what in classifiers.items()
    }


def image_sets(given: Any) -> dict[str, Any]:
    """Image sets by name; the only one is named by its spec, or as the image set is."""
    if isinstance(given, Mapping):
        return dict(given)
    given = images_at(given)
    if isinstance(given, str):
        name, spec = parse_named(given)
        return {name: spec}
    opened = image_set(given)
    return {opened.name: opened}


def _chosen(sets: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Image sets with which of their images are meant, and the one that classifiers were trained on."""
    which = {
        "count": given["count"],
        "where": (given["where"],) if isinstance(given["where"], str) else tuple(given["where"]),
        "ids": _ids(given),
        "columns": "" if given["columns"] is None else str(given["columns"]),
    }
    found: dict[str, dict[str, Any]] = {name: {"spec": what, **which} for name, what in sets.items()}
    if given.get("train") is not None:
        ((name, what),) = image_sets(given["train"]).items()
        name = name if name not in found else f"{name}-train"
        for entry in found.values():
            entry["train"] = name
        count = given["count"] if given["train_count"] is None else given["train_count"]
        found[name] = {"spec": what, "count": count}
    return found


def _ids(given: Mapping[str, Any]) -> tuple[int, ...]:
    return () if given["ids"] is None else ids_of(given["ids"])


def _brings_shifts(images: Any) -> bool:
    return in_scales(images) if isinstance(images, str) else bool(images.shifts)
