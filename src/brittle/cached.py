"""Numbers that follow from a few others are computed once, and are constants of the graphs that use them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")

_TABLES: list[dict[str, Any]] = []
_CONSTANT = (
    "_dynamo_marked_constant"  # all that torch.compiler.assume_constant_result does; it takes a second to import
)


def cached(maxsize: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """`functools.lru_cache` for functions of plain values that return plain values. Tables of tensors take lru_cache
    itself, which torch looks behind: it does not yet tell two such constants of one function apart."""

    def remembering(function: Callable[P, T]) -> Callable[P, T]:
        known = lru_cache(maxsize)(function)

        @wraps(function)
        def found(*values: P.args, **options: P.kwargs) -> T:
            return known(*values, **options)  # type: ignore[arg-type]

        vars(found)[_CONSTANT] = True
        return cast(Callable[P, T], found)

    return remembering


def table(maxsize: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """`functools.lru_cache` for tables of tensors that are made with other libraries. A graph that is exported holds
    them as they are (`whole_tables`); one that is compiled can't have them."""

    def remembering(function: Callable[P, T]) -> Callable[P, T]:
        known = lru_cache(maxsize)(function)

        @wraps(function)
        def found(*values: P.args, **options: P.kwargs) -> T:
            return known(*values, **options)  # type: ignore[arg-type]

        _TABLES.append(vars(found))
        return cast(Callable[P, T], found)

    return remembering


@contextmanager
def whole_tables() -> Iterator[None]:
    """Within it, torch takes tables for constants instead of looking at how they are made."""
    for each in _TABLES:
        each[_CONSTANT] = True
    try:
        yield
    finally:
        for each in _TABLES:
            each.pop(_CONSTANT, None)
