"""The options of the measure `weak-points`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from brittle.errors import BrittleError
from brittle.registry import option


@dataclass(frozen=True)
class WeakPointsOptions:
    """How weak points are sampled."""

    sampler: str = option("auto", "how to draw: the spec of a sampler")
    budget: int = option(2000, "classifier calls per image, for samplers that draw populations")
    chains: int = option(8, "chains per image, for samplers that walk")
    steps: int = option(1000, "steps of each chain after burn-in")
    burn_in: int = option(500, "steps before, in which step sizes adapt")
    start: Literal["prior", "worst"] = option("worst", "chains start at a prior draw, or at the worst of `tries`")
    tries: int = option(64, "prior draws that a chain looks at for its start")
    keep: int = option(200, "draws kept per image, fewer where θ is long")
    count: int = option(20, "how many images of each set, the first in planned order")

    def __post_init__(self) -> None:
        for name in ("budget", "chains", "steps", "tries", "keep", "count"):
            if getattr(self, name) < 1:
                raise BrittleError(f"{name} is {getattr(self, name)}", "Give a whole number of at least 1.")
        if self.burn_in < 0:
            raise BrittleError(f"burn-in is {self.burn_in}", "Give 0 or more steps.")
