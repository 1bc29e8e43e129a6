"""The severities of a path: their values in the unit of the nuisance's scale, and as the nuisance takes them.

Breaking points are sought on the scale's fine grid and failure points on its coarse one; both are told in its unit.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.errors import BrittleError
from brittle.types import OF_255, InScales, Nuisance, Scaled, SeverityScale

MOST = 1 << 16
WHITE = 255
CLOSE = 1e-6  # relative: two spellings of one scale


class Severities(NamedTuple):
    """Rising values above 0."""

    values: tuple[float, ...]  # as they are reported
    per_severity: float  # values that one unit of severity makes
    unit: str

    @property
    def step(self) -> float:
        """From 0 to the first value and, where they are even, from one to the next."""
        return self.values[0]

    @property
    def end(self) -> float:
        return self.values[-1]

    @property
    def of_255(self) -> bool:
        return self.unit == OF_255

    def tensor(self, device: torch.device | str = "cpu") -> Tensor:
        """(K,) as the nuisance takes them."""
        return torch.tensor(self.values, dtype=torch.float64, device=device).div(self.per_severity).float()


def scale_of(nuisance: Nuisance | None) -> SeverityScale:
    """What the nuisance declares; otherwise severity itself."""
    return nuisance.severity_scale if nuisance is not None and isinstance(nuisance, Scaled) else SeverityScale()


def fine_grid(nuisance: Nuisance | None, step: float | None = None, limit: float | None = None) -> Severities:
    """Even steps up to a limit, those of the scale unless others are given."""
    scale = scale_of(nuisance)
    if scale.fixed and (step is None or limit is None):
        even = [place * scale.step for place in range(1, len(scale.coarse) + 1)]
        if not all(map(math.isclose, even, scale.coarse)):
            raise BrittleError(
                f"the stored scales are not evenly spaced from 0: {_listed(scale.coarse)}",
                "Give a step and a limit whose multiples are stored, or measure failure points.",
            )
    return _on(scale, _steps(scale.step if step is None else step, scale.limit if limit is None else limit))


def severities_of(
    nuisance: Nuisance | None, given: Sequence[float] = (), step: float | None = None, limit: float | None = None
) -> Severities:
    """The values given, or steps up to a limit, or the coarse values of the scale."""
    scale = scale_of(nuisance)
    if given and (step is not None or limit is not None):
        raise BrittleError("severities are given as a list and as steps", "Give severities, or step and limit.")
    values = tuple(given)
    if step is not None or limit is not None:
        first = scale.coarse[0] if step is None else step
        values = _steps(first, max(scale.coarse[-1], first) if limit is None else limit)
    return _on(scale, values or scale.coarse)


def followable(nuisance: Nuisance | None, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(B,) whether the path of each image exists: always, unless its images were stored beforehand."""
    return np.asarray(nuisance.exists(ids), bool) if isinstance(nuisance, InScales) else np.ones(len(ids), bool)


def _on(scale: SeverityScale, values: tuple[float, ...]) -> Severities:
    if not values:
        raise BrittleError("this shift has no scale above 0", "Leave it out.")
    if any(after <= before for before, after in itertools.pairwise(values)):
        raise BrittleError(f"severities are {_listed(values)}, but must rise", "Sort them, each once.")
    if scale.fixed:
        values = tuple(_stored(value, scale.coarse) for value in values)
    return Severities(values, scale.per_severity, scale.unit)


def _steps(step: float, limit: float) -> tuple[float, ...]:
    most = limit / step * (1 + 1e-12)
    if not 1 <= most < MOST + 1:
        raise BrittleError(
            f"a step of {step:g} up to {limit:g} makes {'too many severities' if most > 1 else 'no severity'}",
            f"Give a step of at most the limit, and at most {MOST} of them.",
        )
    return tuple(float(value) for value in np.arange(1, int(most) + 1) * step)


def _stored(value: float, known: Sequence[float]) -> float:
    nearest = min(known, key=lambda each: abs(each - value))
    if abs(nearest - value) > CLOSE * abs(value):
        raise BrittleError(f"there are no images at scale {value:g}", f"Known: {_listed(known)}.")
    return nearest


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)
