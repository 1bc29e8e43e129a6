"""How robustness is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from brittle.commands import ROBUST, Command
from brittle.measures.designs import DESIGNS, DesignName
from brittle.registry.options import option

Estimand = Literal["population", "set", "drawn"]


@dataclass(frozen=True)
class RobustnessOptions:
    """The options of the measure `robustness`."""

    samples: int | None = option(
        None,
        "draws of θ per image; 100, or with a tolerance 10 (estimand set: at most 1000)",
        least=1,
        most=10**7,
        extends=True,
    )
    tolerance: float | None = option(
        None,
        "stop as soon as the interval's half-width is this small",
        above=0,
        below=0.5,
        remedy="Try 0.01.",
        extends=True,
    )
    estimand: Estimand = option(
        "population", "what ρ is of: population, set (exactly these images) or drawn", extends=True
    )
    design: DesignName = option(
        "independent",
        "how the draws of one image lie: independent, antithetic (pairs on opposite sides) or sobol (four at a time, "
        "spread evenly)",
    )
    confidence: float = option(0.95, "confidence of every interval", above=0, below=1, rows=False)
    worst_of: int = option(
        10,
        "an image counts for worst-of-k accuracy if its first k draws are all right",
        least=1,
        most=10**7,
        rows=False,
    )
    extra: tuple[Literal["nll", "ece", "top5"], ...] = option((), "also report nll, ece, top5", rows=False)

    @property
    def stops(self) -> bool:
        """Whether a tolerance may end the plan early."""
        return self.tolerance is not None

    @property
    def draws(self) -> int:
        """The most draws an image can get."""
        if self.samples is not None:
            return self.samples
        most = 100 if self.tolerance is None else 1000 if self.estimand == "set" else 10
        return -(-most // self.block) * self.block

    @property
    def block(self) -> int:
        """Draws of an image that are one observation, since they depend on each other."""
        return DESIGNS[self.design].block


COMMAND = Command(
    "robustness",
    "Measure ρ of classifiers under nuisances, with intervals, and their paired differences.",
    RobustnessOptions,
    ROBUST,
    short=("measure", "compare"),
)
