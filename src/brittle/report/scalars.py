"""A summary as flat names and numbers: what trackers log, and what conditions of the gate are about.

A name has the measure, what the result is of, and the number, with dots between them:
`robustness.plain.sample.affine:alpha=50.rho`, and `….rho.low` and `….rho.high` for the ends of its interval."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

LISTS = ("results", "entries", "means")  # where a summary keeps what it has once per classifier, nuisance and so on
MEANS = "means"
NAMES = ("classifier", "group", "image_set", "nuisance", "shift", "by")  # what a result is of, in this order
NOT_RESULTS = frozenset({"seed", "confidence", "family", "tolerance", "worst_of"})  # what was asked for
SIMULTANEOUS = "_simultaneous"

Parts = tuple[str, ...]


def scalars_of(summary: Mapping[str, Any]) -> dict[str, float]:
    """Every number of a run's summary that stands for itself, and the ends of its intervals, by name."""
    return {".".join(parts): value for parts, value in parts_of(summary).items()}


def parts_of(summary: Mapping[str, Any]) -> dict[Parts, float]:
    """The same by the parts of names, since a nuisance's name may have dots in it."""
    found: dict[Parts, float] = {}
    for measure, entry in summary["measures"].items():
        for key, value in entry.items():
            if key in LISTS:
                for row in value:
                    found |= dict(_of_row((measure, *_names(row, mean=key == MEANS)), row))
        found |= dict(_of_row((measure,), {key: value for key, value in entry.items() if key not in (*LISTS, "kind")}))
    return found


def _names(row: Mapping[str, Any], mean: bool) -> Parts:
    return (*(row[key] for key in NAMES if isinstance(row.get(key), str) and row[key]), *(["mean"] if mean else []))


def _of_row(before: Parts, row: Mapping[str, Any]) -> Iterator[tuple[Parts, float]]:
    return (((*before, name), value) for name, value in _numbers(row))


def _numbers(row: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Numbers, those of dictionaries inside, and intervals, which belong to the number that they are named after, or to
    the first number where they are called `interval` alone."""
    first = next((key for key, value in row.items() if _is_number(value) and key not in NOT_RESULTS), "")
    for key, value in row.items():
        if key in NOT_RESULTS:
            continue
        if _is_number(value):
            yield key, float(value)
        elif isinstance(value, Mapping):
            yield from ((f"{key}.{name}", number) for name, number in _numbers(value))
        elif (of := _interval_of(key, first)) and _is_interval(value):
            for end, bound in zip(("low", "high"), value, strict=True):
                if _is_number(bound):
                    yield f"{of}.{end}", float(bound)


def _interval_of(key: str, first: str) -> str:
    """The number that an interval is of, and what is special about it; "" where it is of none."""
    stem = key.removesuffix(SIMULTANEOUS)
    number = (stem.removesuffix("interval").rstrip("_") or first) if stem.endswith("interval") else ""
    return f"{number}.simultaneous" if number and stem != key else number


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_interval(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2


def selected(parts: Sequence[Parts], name: str) -> list[Parts]:
    """The names that a shorter one stands for, in which parts before the number are left out: `rho` is that of every
    result, `plain.rho.low` that of one classifier's."""
    return [each for each in parts if _stands_for(name, each)]


def _stands_for(name: str, parts: Parts) -> bool:
    """Whether a name is made of some of these parts, the last among them. Parts may have dots in them."""
    if not parts or not name.endswith(parts[-1]):
        return False
    left = name.removesuffix(parts[-1])
    if not left:
        return True
    if not left.endswith("."):
        return False
    left = left[:-1]
    return any(_stands_for(left, parts[:end]) for end in range(len(parts) - 1, 0, -1))
