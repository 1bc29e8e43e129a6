"""ImageNet-C's severity levels (Hendrycks & Dietterich 2019), made continuous.

ImageNet-C gives each corruption a strength at levels 1 to 5. Here every level is defined: the strength is
piecewise linear through the identity at level 0 and the five published values, and goes on as a straight line
beyond level 5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from brittle.errors import BrittleError

LEVEL_HELP = "ImageNet-C's level, 1 to 5 or any number between, in place of "


def at_level(table: Sequence[float], level: float) -> float:
    """The strength at a level; table[k] is the strength at level k, so table[0] is the one that changes nothing."""
    if not (math.isfinite(level) and level >= 0):
        raise BrittleError(
            f"option 'level' is {level:g}", "ImageNet-C's levels are 1 to 5; any number from 0 on will do."
        )
    below = min(int(level), len(table) - 2)
    return table[below] + (level - below) * (table[below + 1] - table[below])


def check_strength(thing: object, name: str) -> None:
    """Refuses an option without width, a level without strength, and both of them at once."""
    value: float = getattr(thing, name)
    level: float | None = getattr(thing, "level", None)
    for option, number in ((name, value), ("level", level)):
        if number is not None and not (number > 0 and math.isfinite(number)):
            raise BrittleError(f"option {option!r} is {number:g}", "It must be a positive number.")
    if level is not None and value != getattr(type(thing), name):
        raise BrittleError(f"options 'level' and {name!r} both say how strong it is", "Give one of them.")
