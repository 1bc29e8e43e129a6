"""How shape and texture are told apart."""

from __future__ import annotations

from dataclasses import dataclass

from brittle.commands import LOOKS, Command
from brittle.registry.options import option


@dataclass(frozen=True)
class CueConflictOptions:
    """The options of the measure `cue-conflict`. Images need a column `texture`, as those of cue-conflict:… have."""

    decisions: tuple[str, ...] = option(
        (), "a CSV file of decisions of people or models, as model-vs-human has them; may be repeated", rows=False
    )
    resamples: int = option(
        2000,
        "draws of the bootstrap for shape bias, at least: many differences take more",
        least=100,
        most=10**6,
        rows=False,
    )
    confidence: float = option(0.95, "confidence of every interval", above=0, below=1, rows=False)


COMMAND = Command(
    "cue-conflict",
    "Set shape against texture (cue-conflict:…), and tell which of them classifiers answer with.",
    CueConflictOptions,
    LOOKS,
    nuisance="none",
)
