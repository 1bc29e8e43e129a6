"""Studies as earlier commits spell them, and what these commits said, in today's words.

How many images' weak points are sampled was `images` and is `count`. One measure, `layers`, was what `layer-noise` and
`layer-changes` are, and another, `shape`, what `shuffling`, `cue-conflict` and `error-consistency` are. And breaking
points counted severity in multiples of a nuisance's level, not in levels.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import tomli_w

JOINED = {
    "layer-noise": {"kind": "layers"},
    "layer-changes": {"kind": "layers", "attack": "targeted"},
    "shuffling": {"kind": "shape"},
    "cue-conflict": {"kind": "shape"},
    "error-consistency": {"kind": "shape"},
}
_LEVEL = re.compile(r"[:,]level=([\d.]+)")
Entry = dict[str, Any]


def spelled(tree: Path, study: str) -> str:
    """A study as a tree wants it."""
    measures, found = tree / "src" / "brittle" / "measures", tomllib.loads(study)
    if not (measures / "weak_points" / "options.py").is_file():
        for entry in _of_kind(found, "weak-points"):
            entry["images"] = entry.pop("count")
    if (measures / "breaking_points" / "grid.py").is_file():
        for entry in _of_kind(found, "breaking-points"):
            for each in ("step", "limit"):
                if each in entry:
                    entry[each] /= _level(entry.get("nuisances", [""])[0])
    if (measures / "shape" / "options.py").is_file():
        for name, kind in JOINED.items():
            for entry in _of_kind(found, name):
                entry.update(kind)
        for entry in _of_kind(found, "line"):
            if "covariates" in entry:
                entry["attributes"] = entry.pop("covariates")
    return tomli_w.dumps(found)


def _of_kind(study: Mapping[str, Any], kind: str) -> list[Entry]:
    short = [study[kind]] if kind in study else []
    return short + [entry for entry in study.get("measures", {}).values() if entry["kind"] == kind]


def _level(spec: str) -> float:
    """Of a nuisance that is named with it."""
    found = _LEVEL.search(spec)
    return 1.0 if found is None else float(found[1])


def in_todays_words(name: str, entry: Entry, nuisances: Mapping[str, str]) -> Entry:
    """The summary of a measure whose name in the study begins with that of its kind today."""
    if entry["kind"] == "breaking-points":
        return _in_levels(entry, nuisances)
    if entry["kind"] == "layers":
        return entry | {"results": [_without(each, "attack") for each in entry["results"]]}
    if entry["kind"] == "shape":
        return next(part for kind, part in _PARTS.items() if name.startswith(kind))(entry)
    return entry


def asked_for(name: str, entry: Entry) -> bool:
    """Whether rows under this name are what its kind has today: `shape` shuffled images to compare errors, too."""
    return entry["kind"] != "shape" or not name.startswith("error-consistency")


def _in_levels(entry: Entry, nuisances: Mapping[str, str]) -> Entry:
    """Severities that were multiples of a level; the scales of stored shifts were called severities, too."""
    averages = ("mean", "interval", "median", "median_interval", "spread", "spread_of_repeats")

    def scaled(value: Any, by: float) -> Any:
        if isinstance(value, list):
            return [scaled(each, by) for each in value]
        return None if value is None else by * value

    def result(each: Entry) -> Entry:
        spec = nuisances.get(each["nuisance"])
        if each["unit"] == "severity" and spec is None:
            return each | {"unit": "scale"}
        if each["unit"] != "severity" or spec is None or not _LEVEL.search(spec):
            return each
        by = _level(spec)
        told = {key: scaled(each[key], by) for key in ("step", "limit", *averages)}
        common = each["common"] and each["common"] | {key: scaled(each["common"][key], by) for key in averages}
        survival = each["survival"] | {"values": scaled(each["survival"]["values"], by)}
        return each | told | {"common": common, "survival": survival, "unit": "level"}

    def comparison(each: Entry) -> Entry:
        by = _level(nuisances.get(each["nuisance"], "")) if each["nuisance"] in levelled else 1.0
        return each | {key: scaled(each[key], by) for key in ("difference", "interval")}

    levelled = {each["nuisance"] for each in entry["results"] if each["unit"] == "severity"}
    return entry | {
        "results": [result(each) for each in entry["results"]],
        "comparisons": [comparison(each) for each in entry["comparisons"]],
    }


def _shuffling(entry: Entry) -> Entry:
    return _without(entry, "deciders", "consistency", "people") | {
        "results": [_without(each, "cue_conflict", "resamples") for each in entry["results"]],
        "comparisons": [_without(each, "what") for each in entry["comparisons"]],
    }


def _cue_conflict(entry: Entry) -> Entry:
    """Accuracy on clean images, which is the shape's, was told a second time."""
    twice = ("cue_conflict", "accuracy_clean", "accuracy_clean_interval", "images", "moves", "samples", "shuffled")
    return _without(entry, "consistency", "people", "interference") | {
        "results": [_without(each, *twice) | each["cue_conflict"] for each in entry["results"]],
        "deciders": [_without(each, *twice) | each["cue_conflict"] for each in entry["deciders"]],
        "comparisons": [_without(each, "what", "grid") for each in entry["comparisons"]],
    }


def _error_consistency(entry: Entry) -> Entry:
    own = [{"name": each["classifier"], "sort": "classifier"} | each for each in entry["results"]]
    kept = {
        **{each: each for each in ("name", "sort", "image_set", "images")},
        "accuracy_clean": "accuracy",
        "accuracy_clean_interval": "accuracy_interval",
    }
    return {
        "kind": entry["kind"],
        "results": entry["consistency"],
        "people": entry["people"],
        "deciders": [{new: each[old] for old, new in kept.items()} for each in [*own, *entry["deciders"]]],
    }


_PARTS: dict[str, Callable[[Entry], Entry]] = {
    "shuffling": _shuffling,
    "cue-conflict": _cue_conflict,
    "error-consistency": _error_consistency,
}


def _without(entry: Entry, *keys: str) -> Entry:
    return {key: value for key, value in entry.items() if key not in keys}
