"""ImageNet-C's severity levels (Hendrycks & Dietterich 2019), made continuous.

ImageNet-C defines the strength of each corruption at levels 1 to 5. Here any level ≥ 0 is defined: the strength is
piecewise linear through the identity at level 0 and the five published values, and extrapolated linearly beyond
level 5.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

from torch import Tensor

from brittle.constants import constant
from brittle.errors import BrittleError
from brittle.types import Nuisance, SeverityScale

LEVEL_HELP = "ImageNet-C's level, 1 to 5 or any number between, in place of "


def at_level(table: Sequence[float], level: float) -> float:
    """The strength at a level; table[k] is the strength at level k, so table[0] is the one that changes nothing."""
    if not (math.isfinite(level) and level >= 0):
        raise BrittleError(f"option 'level' is {level:g}", "ImageNet-C's levels are 1 to 5; any number ≥ 0 is allowed.")
    below = min(int(level), len(table) - 2)
    return table[below] + (level - below) * (table[below + 1] - table[below])


def strengths(level: Tensor, *tables: Sequence[float]) -> tuple[Tensor, ...]:
    """level (B,) → for each table of six strengths (at levels 0 to 5), the strength for each image (B,).

    t(l) = t₀ + Σₖ (tₖ₊₁ − tₖ)·clamp(l − k, 0, 1), where the last step has no upper bound."""
    places = level[:, None] - constant((0.0, 1.0, 2.0, 3.0, 4.0), level.device, level.dtype)
    steps = places.clamp(min=0).minimum(constant((1.0, 1.0, 1.0, 1.0, math.inf), level.device, level.dtype))
    first = constant(tuple(table[0] for table in tables), level.device, level.dtype)
    slopes = constant(tuple(itertools.chain(*map(_slopes, tables))), level.device, level.dtype).view(-1, 5)
    return ((steps[:, None] * slopes).sum(-1) + first).unbind(1)


def _slopes(table: Sequence[float]) -> Iterator[float]:
    return (above - below for below, above in itertools.pairwise(table))


def growth(table: Sequence[float], level: float | None, factor: Tensor) -> Tensor:
    """The factor that multiplies a strength: the severity itself or, with a level, what takes the strength to the
    table's at level·severity, so that with `level=1` severity is ImageNet-C's level."""
    if level is None:
        return factor
    return strengths(level * factor.flatten(), table)[0].view_as(factor) / at_level(table, level)


class Levelled:
    """What nuisances share whose `level`, where they have one, severity multiplies."""

    level: Any  # a number above 0, or None

    @property
    def severity_scale(self) -> SeverityScale:
        return SeverityScale() if self.level is None else level_scale(self.level)

    def whole_path(self) -> Nuisance | None:
        """From level 1."""
        return None if self.level is None else cast(Nuisance, replace(cast(Any, self), level=1.0))


def level_scale(level: float, unit: str = "level") -> SeverityScale:
    """Severity 1 is the level; the fine grid has a tenth of that, up to ten times as much."""
    return SeverityScale(unit, level, (1.0, 2.0, 3.0, 4.0, 5.0), level / 10, 10 * level)


def check_level(thing: Any, name: str) -> None:
    """Refuses a level beside the option that it stands in for."""
    if thing.level is not None and getattr(thing, name) != getattr(type(thing), name):
        raise BrittleError(f"options 'level' and {name!r} both say how strong it is", "Give one of them.")
