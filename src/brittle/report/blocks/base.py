"""What every piece of a block is: a frozen dataclass whose field `type` tells it from others in JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def piece(kind: type[T]) -> type[T]:
    """Makes a class a frozen dataclass with the field `type`, which holds its name."""
    name: Any = kind.__name__
    kind.__annotations__["type"] = Literal[name]
    setattr(kind, "type", field(default=name, kw_only=True, repr=False))  # noqa: B010  # mypy knows no such attribute
    return dataclass(frozen=True)(kind)
