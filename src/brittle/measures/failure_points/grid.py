"""The severities of paths to failure: their values as people name them, and as a nuisance takes them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.errors import BrittleError
from brittle.measures.breaking_points.grid import MOST, WHITE
from brittle.nuisances.noise.gaussian import Noise
from brittle.nuisances.shifts import level_of
from brittle.types import InScales, Nuisance

CLOSE = 1e-6  # relative: two spellings of one scale


class Severities(NamedTuple):
    """Rising values above 0."""

    values: tuple[float, ...]  # as they are told
    per_severity: float  # values that one unit of severity makes
    unit: str

    @property
    def end(self) -> float:
        return self.values[-1]

    def tensor(self, device: torch.device | str = "cpu") -> Tensor:
        """(K,) as the nuisance takes them."""
        return torch.tensor(self.values, dtype=torch.float64, device=device).div(self.per_severity).float()


class Scale(NamedTuple):
    """What severity is called under a nuisance, and the values that are looked at unless others are given."""

    per_severity: float
    unit: str
    values: tuple[float, ...]
    fixed: bool = False  # no others exist


def scale_of(nuisance: Nuisance) -> Scale:
    """Stored scales where there are no others, ImageNet-C's levels, which severity multiplies where a nuisance has one,
    and otherwise severity itself."""
    if isinstance(nuisance, InScales):
        return Scale(1.0, "scale", tuple(map(float, nuisance.scales)), fixed=True)
    if (level := level_of(nuisance)) is not None:
        drawn = getattr(nuisance, "spread", 0) > 0
        return Scale(level, "median level" if drawn else "level", (1.0, 2.0, 3.0, 4.0, 5.0))
    if isinstance(nuisance, Noise):
        return Scale(WHITE * nuisance.strength, "σ of 255", tuple(10.0 * place for place in range(1, 11)))
    return Scale(1.0, "severity", (0.5, 1.0, 1.5, 2.0, 2.5))


def severities_of(
    nuisance: Nuisance, given: Sequence[float] = (), step: float | None = None, limit: float | None = None
) -> Severities:
    """The grid of a nuisance: the values given, or steps up to a limit, or what is usual."""
    scale = scale_of(nuisance)
    if given and (step is not None or limit is not None):
        raise BrittleError("severities are given as a list and as steps", "Give severities, or step and limit.")
    values = tuple(given)
    if step is not None or limit is not None:
        values = _steps(scale, step, limit)
    values = values or scale.values
    if not values:
        raise BrittleError("this shift has no scale above 0", "Leave it out.")
    if any(after <= before for before, after in itertools.pairwise(values)):
        raise BrittleError(f"severities are {_listed(values)}, but must rise", "Sort them, each once.")
    if scale.fixed:
        values = tuple(_stored(value, scale.values) for value in values)
    return Severities(values, scale.per_severity, scale.unit)


def followable(nuisance: Nuisance | None, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(B,) whether the path of each image exists: always, unless its images were stored beforehand."""
    return np.asarray(nuisance.exists(ids), bool) if isinstance(nuisance, InScales) else np.ones(len(ids), bool)


def _steps(scale: Scale, step: float | None, limit: float | None) -> tuple[float, ...]:
    first = scale.values[0] if step is None else step
    end = max(scale.values[-1], first) if limit is None else limit
    count = int(end / first * (1 + 1e-12))
    if not 0 < count <= MOST:
        raise BrittleError(
            f"a step of {first:g} up to {end:g} makes {'too many severities' if count else 'no severity'}",
            f"Give a step of at most the limit, and at most {MOST} of them.",
        )
    return tuple(float(value) for value in np.arange(1, count + 1) * first)


def _stored(value: float, known: Sequence[float]) -> float:
    nearest = min(known, key=lambda each: abs(each - value))
    if abs(nearest - value) > CLOSE * abs(value):
        raise BrittleError(f"there are no images at scale {value:g}", f"Known: {_listed(known)}.")
    return nearest


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)
