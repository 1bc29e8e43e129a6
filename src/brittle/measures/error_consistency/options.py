"""How errors are compared."""

from __future__ import annotations

from dataclasses import dataclass

from brittle.commands import COMPARED, Command
from brittle.registry.options import option


@dataclass(frozen=True)
class ErrorConsistencyOptions:
    """The options of the measure `error-consistency`."""

    decisions: tuple[str, ...] = option(
        (), "a CSV file of decisions of people or models, as model-vs-human has them; may be repeated", rows=False
    )
    resamples: int = option(2000, "draws of the bootstrap", least=100, most=10**6, rows=False)
    confidence: float = option(0.95, "confidence of every interval", above=0, below=1, rows=False)


COMMAND = Command(
    "error-consistency",
    "Tell whether classifiers, and people whose decisions are given, are wrong on the same images.",
    ErrorConsistencyOptions,
    COMPARED,
    against="compare the errors of this classifier too; may be repeated",
    nuisance="none",
)
