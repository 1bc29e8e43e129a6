"""How breaking points are found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from brittle.commands import BREAKS, Command
from brittle.registry.options import option


@dataclass(frozen=True)
class BreakingPointsOptions:
    """The options of the measure `breaking-points`. Step and limit are in the unit in which the nuisance counts
    severity: σ where white is 255 under `noise`, ImageNet-C's level under nuisances that have one."""

    noise: Literal["path", "fresh"] = option(
        "path", "θ drawn once per image and repeat and scaled by severity (path), or anew at each severity (fresh)"
    )
    search: Literal["first", "bisect"] = option(
        "first",
        "the first severity at which the prediction changes (first), or one found by halving (bisect): far fewer "
        "answers, and the first unless the path comes back on the way",
    )
    step: float | None = option(
        None, "severity rises by this: 1 of 255 under noise, a tenth of the level, otherwise 0.1", above=0
    )
    limit: float | None = option(
        None, "the highest severity: 255 under noise, ten times the level, otherwise 10", above=0
    )
    repeats: int = option(1, "paths per image", least=1, most=10**6, extends=True)
    confidence: float = option(0.95, "confidence of every interval", above=0, below=1, rows=False)


COMMAND = Command(
    "breaking-points",
    "Find the severity at which predictions change: σ of Gaussian noise, or any nuisance's severity.",
    BreakingPointsOptions,
    BREAKS,
    short=("break",),
    images=200,
    nuisance="optional",
)
