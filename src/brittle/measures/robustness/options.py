"""The options of the measure `robustness`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from brittle.errors import BrittleError
from brittle.registry import option

Estimand = Literal["population", "set", "drawn"]


@dataclass(frozen=True)
class RobustnessOptions:
    """How robustness is measured."""

    samples: int | None = option(None, "draws of θ per image; 100, or with a tolerance 10 (estimand set: at most 1000)")
    tolerance: float | None = option(None, "stop as soon as the interval's half-width is this small")
    estimand: Estimand = option("population", "what ρ is of: population, set (exactly these images) or drawn")
    confidence: float = option(0.95, "of every interval")
    worst_of: int = option(10, "an image counts for worst-of-k accuracy if its first k draws are all right")
    extra: tuple[Literal["nll", "ece", "top5"], ...] = option((), "also report nll, ece, top5")

    def __post_init__(self) -> None:
        if self.samples is not None and self.samples < 1:
            raise BrittleError(f"samples is {self.samples}", "At least one draw per image is needed.")
        if self.tolerance is not None and not 0 < self.tolerance < 0.5:
            raise BrittleError(f"tolerance is {self.tolerance:g}", "Give a half-width between 0 and 0.5, such as 0.01.")
        if not 0 < self.confidence < 1:
            raise BrittleError(f"confidence is {self.confidence:g}", "Give a number between 0 and 1, such as 0.95.")
        if self.worst_of < 1:
            raise BrittleError(f"worst-of is {self.worst_of}", "Give a whole number of at least 1.")
