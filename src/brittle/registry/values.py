"""Values: from text (specs, the command line) or from themselves (study files, Python) to what an annotation says.

One place converts, one place checks, and there is one kind of message: what it is, and what it must be.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import os
import re
import types
import typing
from collections.abc import Iterable
from typing import Any

TRUE, FALSE = ("true", "yes", "1"), ("false", "no", "0")
LONGEST_SHOWN = 80
LARGEST = 2**63 - 1  # a whole number has 64 bits, in study files too


@dataclasses.dataclass(frozen=True)
class Limits:
    """What a value may be, beyond its type. In a list, `choices` and ranges hold for each of its values."""

    above: float | None = None
    least: float | None = None
    below: float | None = None
    most: float | None = None
    choices: tuple[Any, ...] = ()
    finite: bool = True
    fewest: int = 0
    remedy: str = ""

    @property
    def range(self) -> str:
        """The numbers allowed, in words; "" where every number is."""
        if self.above is not None and self.below is not None:
            return f"between {_figure(self.above)} and {_figure(self.below)} (exclusive)"
        if self.least is not None and self.most is not None:
            return f"between {_figure(self.least)} and {_figure(self.most)}"
        parts = (("above", self.above), ("at least", self.least), ("below", self.below), ("at most", self.most))
        return " and ".join(f"{word} {_figure(bound)}" for word, bound in parts if bound is not None)

    def hold(self, number: float) -> bool:
        return (
            (self.above is None or number > self.above)
            and (self.least is None or number >= self.least)
            and (self.below is None or number < self.below)
            and (self.most is None or number <= self.most)
        )


class UnfitValue(Exception):
    """A value that is not what it must be: "must be above 0"."""

    def __init__(self, must: str, remedy: str = "") -> None:
        super().__init__(must)
        self.must, self.remedy = must, remedy


def fitted(value: Any, hint: Any, limits: Limits) -> Any:
    """The value as the annotation says, or `UnfitValue`. What has an annotation unknown here is left as it is."""
    value, origin, inner = _plain(value), typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _fit_union(value, hint, inner, limits)
    if origin is tuple:
        return _fit_tuple(value, hint, inner, limits)
    if origin is typing.Literal or limits.choices:
        return _fit_choice(value, inner or limits.choices)
    if hint is bool:
        return _fit_bool(value)
    if hint in (int, float):
        return _fit_number(value, hint, limits)
    if hint is str and not isinstance(value, str):
        raise UnfitValue("must be text")
    return value


def described(hint: Any, limits: Limits) -> str:
    """What a value may be, in words: "a number above 0", "bilinear, nearest or bicubic"; "" for anything."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _either(word for each in inner if each is not type(None) for word in _alternatives(each, limits))
    if origin is tuple:
        return _list(inner[0], limits, None if inner[-1] is Ellipsis else len(inner))
    if origin is typing.Literal or limits.choices:
        return _either(inner or limits.choices)
    if hint in (int, float):
        return f"{'a whole number' if hint is int else 'a number'}{_within(limits)}"
    return {bool: "true or false", str: "text"}.get(hint, "")


def quoted(value: Any) -> str:
    """A value as messages quote it: numbers as they are, also where they are text, and words in quotes."""
    value = _plain(value)
    is_number = isinstance(value, str) and _number(value, float) is not None
    text = _figure(value) if isinstance(value, float) else value.strip() if is_number else repr(value)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"


def nearest(word: object, known: Iterable[object]) -> str:
    """Did you mean …?, where something is near enough."""
    near = difflib.get_close_matches(str(word), [str(each) for each in known], n=1, cutoff=0.6)
    return f"Did you mean {near[0]!r}?" if near else ""


def _plain(value: Any) -> Any:
    """Numbers and rows of numpy and torch → Python's own; a path → its text."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    dimensions = getattr(value, "ndim", None)
    return value.tolist() if dimensions in (0, 1) and hasattr(value, "tolist") else value


def _fit_union(value: Any, hint: Any, inner: tuple[Any, ...], limits: Limits) -> Any:
    if type(None) in inner and (value is None or (isinstance(value, str) and value.strip().lower() in ("", "none"))):
        return None
    kinds = [each for each in inner if each is not type(None)]
    if len(kinds) == 1:
        return fitted(value, kinds[0], limits)
    for kind in kinds:
        try:
            return fitted(value, kind, limits)
        except UnfitValue:
            pass
    words = (word for kind in kinds if typing.get_origin(kind) is typing.Literal for word in typing.get_args(kind))
    raise UnfitValue(f"must be {described(hint, limits)}", nearest(value, words))


def _fit_tuple(value: Any, hint: Any, inner: tuple[Any, ...], limits: Limits) -> tuple[Any, ...]:
    if isinstance(value, str):
        separator = "[/,]" if inner[0] in (int, float) else "/"
        value = [part.strip() for part in re.split(separator, value)] if value.strip() else []
    proper = isinstance(value, (tuple, list)) and len(value) >= limits.fewest
    if not proper or (inner[-1] is not Ellipsis and len(value) != len(inner)):
        raise UnfitValue(f"must be {described(hint, limits)}")
    try:
        return tuple(fitted(each, inner[0], limits) for each in value)
    except UnfitValue as wrong:
        raise UnfitValue(f"each {wrong.must}", wrong.remedy) from None


def _fit_choice(value: Any, choices: tuple[Any, ...]) -> Any:
    for choice in choices:
        if value == choice or (isinstance(value, str) and value.strip() == str(choice)):
            return choice
    raise UnfitValue(f"must be {_either(choices)}", nearest(value, choices))


def _fit_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if not isinstance(value, str) or value.strip().lower() not in TRUE + FALSE:
        raise UnfitValue("must be true or false")
    return value.strip().lower() in TRUE


def _fit_number(value: Any, hint: type, limits: Limits) -> int | float:
    number = _number(value, hint)
    if number is None:
        raise UnfitValue(f"must be {described(hint, limits)}", _as_whole(value) if hint is int else "")
    if hint is int and abs(number) > LARGEST:
        raise UnfitValue(f"must be at most {LARGEST} either way")
    if limits.finite and not math.isfinite(number):
        raise UnfitValue(f"must be {described(hint, limits) if limits.range else 'finite'}")
    if not limits.hold(number):
        raise UnfitValue(f"must {'lie' if limits.range.startswith('between') else 'be'} {limits.range}")
    return number


def _number(value: Any, hint: type) -> int | float | None:
    """None where it is not a number of that type: True is not, and 3.0 and 1e3 are not whole ones."""
    if isinstance(value, bool) or not isinstance(value, (int, str) if hint is int else (int, float, str)):
        return None
    try:
        number: int | float = hint(value)
    except (ValueError, OverflowError):
        return None
    return number


def _as_whole(value: Any) -> str:
    """The remedy for 1e3 where a whole number is wanted."""
    number = _number(value, float)
    return f"Write {int(number)}." if number is not None and float(number).is_integer() else ""


def _alternatives(hint: Any, limits: Limits) -> Iterable[object]:
    return typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else (described(hint, limits),)


def _list(hint: Any, limits: Limits, length: int | None) -> str:
    choices = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else limits.choices
    if choices:
        return f"any of {', '.join(map(str, choices))}"
    count = f"{length} " if length is not None else f"{limits.fewest} or more " if limits.fewest else ""
    nouns = {int: "whole numbers", float: "numbers"}.get(hint, "words")
    return f"{'a list of ' if length is None else ''}{count}{nouns}{_within(limits)}"


def _within(limits: Limits) -> str:
    """What follows "a number": " above 0", " of at least 1"."""
    return f"{' of' if limits.range.startswith('at ') else ''} {limits.range}" if limits.range else ""


def _figure(number: float) -> str:
    whole = abs(number) < 1e15 and float(number).is_integer()
    return str(int(number)) if whole else repr(number)


def _either(words: Iterable[object]) -> str:
    *others, last = map(str, words)
    return f"{', '.join(others)} or {last}" if others else last
