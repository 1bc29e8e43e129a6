"""How targeted perturbations are searched for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from brittle.commands import BREAKS, Command
from brittle.registry.options import option

Method = Literal["adam", "fgsm", "t-fgsm", "i-fgsm"]


@dataclass(frozen=True)
class PerturbationOptions:
    """The options of the measure `perturbation`."""

    method: Method = option("adam", "how changes are found: adam, or as baselines fgsm (no target), t-fgsm, i-fgsm")
    targets: tuple[str, ...] = option(
        ("all",), "classes to change images to: all, or names and numbers; none for i-fgsm away from the prediction"
    )
    draw: int | None = option(
        None, "only so many targets per image, drawn by the seed; all of them by default", least=1
    )
    share: float = option(0.9, "the probability that the target must reach", above=0, below=1)
    rate: float = option(0.005, "Adam's step, on values in [0, 1]", above=0, most=1)
    steps: int = option(1000, "Adam's steps after which a search has failed", least=1, most=10**6)
    iterations: int = option(10, "steps of i-fgsm", least=1, most=10**4)
    clip: bool = option(True, "hold the changed image to [0, 1]; without, only the size of the change counts")
    count: int = option(100, "how many images of each set, the first in planned order", least=1, extends=True)
    per_class: int | None = option(
        None,
        "of these, only so many of each class, the first in planned order; for a perturbation matrix 1",
        least=1,
        extends=True,
    )
    quality: int = option(75, "quality of the JPEG that changes are tried on", least=1, most=100)
    cap: float = option(
        0.5, "in means a change counts as at most this, and a failure as this", above=0, most=1, rows=False
    )
    confidence: float = option(0.95, "confidence of every interval", above=0, below=1, rows=False)


COMMAND = Command(
    "perturbation",
    "Find how far images must be changed for a classifier to see another class in them.",
    PerturbationOptions,
    BREAKS,
    short=("perturb",),
    images=100,
    images_option="count",
    costly=True,
    nuisance="none",
    out="keep the run and a report with matrices, bubbles and pictures in this folder",
)
