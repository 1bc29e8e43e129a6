"""How interference is judged."""

from __future__ import annotations

from dataclasses import dataclass

from brittle.registry.options import option


@dataclass(frozen=True)
class InterferenceOptions:
    """The options of the measure `interference`."""

    simulations: int = option(4000, "how often chance is simulated", least=100, most=10**6, rows=False)
    confidence: float = option(0.95, "of the rough interval over runs", above=0, below=1, rows=False)
