"""Numbers that follow from a few others are computed once, and are constants of the graphs that use them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")


def cached(maxsize: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """`functools.lru_cache` for functions of plain values that return plain values. Tables of tensors take lru_cache
    itself, which torch looks behind: it does not yet tell two such constants of one function apart."""

    def remembering(function: Callable[P, T]) -> Callable[P, T]:
        known = lru_cache(maxsize)(function)

        @wraps(function)
        def found(*values: P.args, **options: P.kwargs) -> T:
            return known(*values, **options)  # type: ignore[arg-type]

        # All that torch.compiler.assume_constant_result does; to call it takes a second of imports, compiled or not.
        vars(found)["_dynamo_marked_constant"] = True
        return cast(Callable[P, T], found)

    return remembering
