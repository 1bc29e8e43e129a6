"""Conditions on numbers of a summary: `rho>=0.6`, `plain.rho.low>0.55`."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from brittle.errors import BrittleError
from brittle.registry import did_you_mean
from brittle.report.scalars import parts_of, selected

COMPARED: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
}
_CONDITION = re.compile(r"\s*(?P<name>.+?)\s*(?P<sign>>=|<=|==|>|<)\s*(?P<bound>[^<>=]+?)\s*")


@dataclass(frozen=True)
class Condition:
    """A name, which may stand for several numbers, a sign and a bound."""

    text: str
    name: str
    sign: str
    bound: float

    @classmethod
    def read(cls, text: str) -> Condition:
        found = _CONDITION.fullmatch(text)
        bound = _number(found["bound"]) if found else None
        if found is None or bound is None:
            raise BrittleError(
                f"--require is {text!r}, which is not a condition",
                "Write a name, one of >=, <=, >, < and ==, and a number: rho>=0.6.",
            )
        return cls(text.strip(), found["name"], found["sign"], bound)

    def holds(self, value: float) -> bool:
        return COMPARED[self.sign](value, self.bound)


class JudgedNumber(NamedTuple):
    """One number that a condition is on."""

    condition: str
    name: str  # in full
    value: float
    holds: bool


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def judged(condition: Condition, summary: Mapping[str, Any]) -> list[JudgedNumber]:
    """Every number that a condition is on, each of which has to meet it."""
    numbers = parts_of(summary)
    names = selected(list(numbers), condition.name)
    if not names:
        known = dict.fromkeys([*(parts[-1] for parts in numbers), *(".".join(parts) for parts in numbers)])
        raise BrittleError(
            f"--require {condition.text!r}: the summary has no number called {condition.name!r}",
            did_you_mean(condition.name, known),
        )
    return [
        JudgedNumber(condition.text, ".".join(parts), value, condition.holds(value))
        for parts in names
        for value in (numbers[parts],)
    ]
