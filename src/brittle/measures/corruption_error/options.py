"""How corruption errors are computed."""

from __future__ import annotations

from dataclasses import dataclass

from brittle.commands import COMPARED, Command
from brittle.measures.failure_points.options import FailurePointsOptions
from brittle.registry.options import option

PUBLISHED = "imagenet-c:alexnet"


@dataclass(frozen=True)
class CorruptionErrorOptions:
    """The options of the measure `corruption-error`."""

    reference: str = option(
        "",
        "the classifier whose errors divide, the first unless given; imagenet-c:alexnet: AlexNet's published errors, "
        "for image sets in ImageNet-C's layout",
        rows=False,
    )
    confidence: float = option(0.95, "confidence of every interval", above=0, below=1, rows=False)
    resamples: int = option(2000, "resamplings of the images, for the intervals", least=100, most=10**5, rows=False)


COMMAND = Command(
    "corruption-error",
    "Set errors under shifts against those of a reference classifier: CE, rCE, and their means over shifts.",
    CorruptionErrorOptions,
    COMPARED,
    images=500,
    against="set this classifier's errors beside them; may be repeated",
    reads={"failure-points": FailurePointsOptions},
    unread=("only", "tolerance", "confidence"),
)
