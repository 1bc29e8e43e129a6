"""The severities of a sweep, and the unit they are told in."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.nuisances.noise.gaussian import Noise
from brittle.types import InScales, Nuisance

WHITE = 255
MOST = 1 << 16


class Grid(NamedTuple):
    """Rising values step, 2·step, … up to the limit; under additive noise they are σ on the scale from 0 to 255."""

    step: float
    limit: float
    per_severity: float  # values that one unit of severity makes
    of_255: bool

    @property
    def steps(self) -> int:
        return int(self.limit / self.step * (1 + 1e-12))

    @property
    def end(self) -> float:
        """The last value, which may lie below the limit."""
        return self.step * self.steps

    @property
    def unit(self) -> str:
        return "σ of 255" if self.of_255 else "severity"

    def severities(self, device: torch.device | str = "cpu") -> Tensor:
        """(K,) as the nuisance takes them."""
        places = torch.arange(1, self.steps + 1, dtype=torch.float64, device=device)
        return (places * (self.step / self.per_severity)).float()


def grid_of(nuisance: Nuisance, step: float | None, limit: float | None) -> Grid:
    """The grid of a nuisance; what is None has its default: where images are stored, their scales if these are even."""
    if isinstance(nuisance, InScales):
        even = [place * nuisance.scales[0] for place in range(1, len(nuisance.scales) + 1)]
        if (step is None or limit is None) and not all(map(math.isclose, even, nuisance.scales)):
            raise BrittleError(
                "the stored scales are not evenly spaced from 0: "
                + ", ".join(f"{scale:g}" for scale in nuisance.scales),
                "Give a step and a limit whose multiples are stored, or measure failure points.",
            )
        step, limit = (nuisance.scales[0] if step is None else step), (nuisance.scales[-1] if limit is None else limit)
    of_255 = isinstance(nuisance, Noise) and nuisance.level is None
    per_severity = WHITE * nuisance.strength if isinstance(nuisance, Noise) and of_255 else 1.0
    step = (1.0 if of_255 else 0.1) if step is None else step
    limit = (float(WHITE) if of_255 else 10.0) if limit is None else limit
    if step > limit or limit / step > MOST or not math.isfinite(limit):
        raise BrittleError(
            f"a step of {step:g} up to {limit:g} makes {'no severity' if step > limit else 'too many severities'}",
            f"Give a step of at most the limit, and at most {MOST} of them.",
        )
    return Grid(step, limit, per_severity, of_255)
