"""How interference is judged."""

from __future__ import annotations

from dataclasses import dataclass

from brittle.commands import LOOKS, Command
from brittle.registry.options import option


@dataclass(frozen=True)
class InterferenceOptions:
    """The options of the measure `interference`."""

    simulations: int = option(4000, "how often chance is simulated", least=100, most=10**6, rows=False)
    confidence: float = option(0.95, "confidence of the rough interval over runs", above=0, below=1, rows=False)


@dataclass(frozen=True)
class DrawsPerImage:
    """What a user says of the robustness that interference is derived from."""

    samples: int = option(5, "draws of θ per image", least=1, most=10**7)


COMMAND = Command(
    "interference",
    "Find whether the errors that a nuisance makes go to one class: the DI index.",
    InterferenceOptions,
    LOOKS,
    images=1000,
    against="also measure this classifier; may be repeated",
    reads={"robustness": DrawsPerImage},
)
