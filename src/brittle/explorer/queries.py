"""What a page may ask: plain values, checked before anything is computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self
from urllib.parse import parse_qsl

from brittle.errors import BrittleError
from brittle.registry import did_you_mean

MOST_NUMBERS = 64  # of a θ that is given
LONGEST = 1000  # characters of a name
MOST_CLASSIFIERS = 2  # side by side


@dataclass(frozen=True)
class Query:
    """One picture: an image of the run, or of the reader's `own`, under a nuisance at θ or at a draw of the prior, and
    who is asked about it."""

    set: str = ""
    image: int | None = None  # its id
    nuisance: str = ""
    theta: tuple[float, ...] | None = None
    draw: int | None = None
    severity: float | None = None
    classifiers: tuple[str, ...] = ()
    own: str | None = None  # a picture that was sent before

    @classmethod
    def of(cls, values: Any) -> Self:
        """From JSON."""
        given = checked(values, {field.name for field in fields(cls)})
        return cls(**{name: READ[name](name, value) for name, value in given.items() if value is not None})

    @classmethod
    def at(cls, address: str) -> Self:
        """From what stands behind the # of the page's address."""
        said = dict(parse_qsl(address.partition("#")[2] or address, keep_blank_values=True))
        values: dict[str, Any] = {name: said[name] for name in ("set", "nuisance") if name in said}
        values |= {name: _as_number(name, said[name], int) for name in ("image", "draw") if name in said}
        values |= {"severity": _as_number("severity", said["severity"], float)} if "severity" in said else {}
        if "theta" in said:
            values["theta"] = [_as_number("theta", each, float) for each in said["theta"].split(",")]
        return cls.of(values | {"classifiers": [said[name] for name in ("first", "second") if said.get(name)]})


@dataclass(frozen=True)
class MapQuery(Query):
    """A map over two places of θ."""

    x: int = 0
    y: int = 1
    classifier: str = ""


@dataclass(frozen=True)
class CaseQuery(Query):
    """What is to be saved under a name, with the class that one classifier should see."""

    name: str = ""
    classifier: str = ""


@dataclass(frozen=True)
class PointsQuery:
    """Kept θ of one classifier under a nuisance: of one image, or of all with these labels, in some order."""

    set: str = ""
    nuisance: str = ""
    classifier: str = ""
    measure: str = ""
    image: int | None = None
    label: int | None = None  # as the classifier counts
    predicted: int | None = None
    wrong: bool = False  # only where these differ
    sort: str = "image"
    descending: bool = False
    offset: int = 0
    limit: int = 24

    @classmethod
    def of(cls, values: Any) -> Self:
        given = checked(values, {field.name for field in fields(cls)})
        return cls(**{name: READ[name](name, value) for name, value in given.items() if value is not None})


def _as_number(name: str, text: str, kind: type[int] | type[float]) -> int | float:
    try:
        return kind(text)
    except ValueError:
        raise BrittleError(f"{name} is {text!r}, which is not a number", "Copy the whole address.") from None


def checked(values: Any, known: set[str]) -> Mapping[str, Any]:
    if not isinstance(values, Mapping):
        raise BrittleError("the question is not a JSON object", "Send one with names and values.")
    for name in values:
        if name not in known:
            raise BrittleError(f"unknown key {name!r}", did_you_mean(str(name), known))
    return values


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or len(value) > LONGEST:
        raise BrittleError(f"{name} is not a short text", "Send one.")
    return value


def _whole(name: str, value: Any) -> int:
    if type(value) is not int or abs(value) >= 1 << 63:
        raise BrittleError(f"{name} is not a whole number", "Send one.")
    return value


def _number(name: str, value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value) or abs(value) > 1e30:
        raise BrittleError(f"{name} is not a number", "Send a finite one.")
    return float(value)


def _at_least_zero(name: str, value: Any) -> int:
    if (found := _whole(name, value)) < 0 or found >= 1 << 31:
        raise BrittleError(f"{name} is {found}", "Send a number from 0 up.")
    return found


def _severity(name: str, value: Any) -> float:
    if (found := _number(name, value)) < 0:
        raise BrittleError(f"severity is {found:g}", "Severities begin at 0.")
    return found


def _numbers(name: str, value: Any) -> tuple[float, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_NUMBERS:
        raise BrittleError(f"{name} is not a list of 1 to {MOST_NUMBERS} numbers", "Send the numbers of θ.")
    return tuple(_number(name, each) for each in value)


def _names(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > MOST_CLASSIFIERS:
        raise BrittleError(f"{name} is not a list of at most {MOST_CLASSIFIERS} names", "Send their names.")
    return tuple(dict.fromkeys(_text(name, each) for each in value))


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise BrittleError(f"{name} is neither true nor false", "Send one of them.")
    return value


READ: Mapping[str, Callable[[str, Any], Any]] = {
    "set": _text,
    "image": _whole,
    "nuisance": _text,
    "theta": _numbers,
    "draw": _at_least_zero,
    "severity": _severity,
    "classifiers": _names,
    "own": _text,
    "x": _at_least_zero,
    "y": _at_least_zero,
    "classifier": _text,
    "name": _text,
    "measure": _text,
    "label": _whole,
    "predicted": _whole,
    "sort": _text,
    "wrong": _flag,
    "descending": _flag,
    "offset": _at_least_zero,
    "limit": _at_least_zero,
}
