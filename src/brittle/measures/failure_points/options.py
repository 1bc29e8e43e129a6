"""How failure points are found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from brittle.commands import BREAKS, Command
from brittle.registry.options import option


@dataclass(frozen=True)
class FailurePointsOptions:
    """The options of the measure `failure-points`.

    Severities are ImageNet-C's levels for corruptions that have them, σ on the scale from 0 to 255 under `noise`, the
    scales of an image set that comes in scales, and the nuisance's own severity otherwise."""

    severities: tuple[float, ...] = option(
        (), "those above 0, rising; unless given: levels 1 to 5, σ = 10 to 100, all scales, or 0.5 to 2.5", above=0
    )
    step: float | None = option(None, "in place of a list: severity rises by this", above=0)
    limit: float | None = option(None, "the highest severity of such steps", above=0)
    only: Literal["first"] | None = option(
        None, "first: a path is not followed past its first failure, and accuracy at higher severities is not known"
    )
    tolerance: float | None = option(
        None, "narrow each failure point down to this, by bisection between two severities of the grid", above=0
    )
    repeats: int = option(1, "paths per image", least=1, most=10**6, extends=True)
    confidence: float = option(0.95, "confidence of every interval", above=0, below=1, rows=False)


COMMAND = Command(
    "failure-points",
    "Find the severity at which predictions become wrong, and accuracy at every severity on the way.",
    FailurePointsOptions,
    BREAKS,
    short=("fail",),
    images=200,
)
