"""How images of a class are connected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from brittle.commands import INSIDE, Command
from brittle.registry.options import option


@dataclass(frozen=True)
class ConnectednessOptions:
    """The options of the measure `connectedness`."""

    per_class: int = option(100, "images of each class, the first in planned order", least=2, most=10**5)
    method: Literal["auto", "ida", "torch"] = option(
        "auto",
        "how a curved path is found: by SUNDIALS IDA, pair by pair, or by a batched projected method; auto: ida for "
        "images of at most 64 numbers",
    )
    tries: int = option(5, "pairs that a component tries in vain before it rests", least=1, most=10**5)
    steps: int = option(64, "steps of a curved path, at least", least=4, most=10**4)
    kappa: float = option(10.0, "κ, the rate at which IDA's path is drawn back to its level", least=0)
    until: float = option(0.99, "t at which a curved path is closed by a straight segment", above=0, below=1)
    points: int = option(128, "points of a straight segment that are checked; a curved step has 8", least=8, most=10**5)
    pictures: int = option(1, "connecting paths per class whose images are kept", least=0, most=100)
    confidence: float = option(0.95, "confidence of the interval of the straight share", above=0, below=1, rows=False)


COMMAND = Command(
    "connectedness",
    "Find the bubbles of each class: which images lie in one region that the classifier gives their class.",
    ConnectednessOptions,
    INSIDE,
    nuisance="none",
)
