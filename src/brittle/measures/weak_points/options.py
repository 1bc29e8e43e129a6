"""How weak points are sampled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from brittle.commands import BREAKS, Command
from brittle.registry.options import option


@dataclass(frozen=True)
class WeakPointsOptions:
    """The options of the measure `weak-points`."""

    sampler: str = option("auto", "how to draw: the spec of a sampler")
    budget: int = option(2000, "classifier calls per image, for samplers that draw populations", least=1, most=10**7)
    chains: int = option(8, "chains per image, for samplers that walk", least=1, most=10**5)
    steps: int = option(1000, "steps per chain after burn-in", least=1, most=10**7)
    burn_in: int = option(500, "steps before, in which step sizes adapt", least=0, most=10**7)
    start: Literal["prior", "worst"] = option("worst", "chains start at a prior draw, or at the worst of `tries`")
    tries: int = option(64, "prior draws that a chain looks at for its start", least=1, most=10**7)
    keep: int = option(200, "draws kept per image, fewer where θ is long", least=1, most=10**7)
    failing: bool = option(False, "only θ at which the prediction is another label, where doubt alone is not enough")
    count: int = option(20, "how many images of each set, the first in planned order", least=1, extends=True)


COMMAND = Command(
    "weak-points",
    "Sample where a classifier breaks: draws from p(θ | not the label, x).",
    WeakPointsOptions,
    BREAKS,
    short=("sample",),
    images=20,
    images_option="count",
    costly=True,
    against="also sample this classifier, on the same images; may be repeated",
    out="keep the draws and a report with pictures in this folder",
)
