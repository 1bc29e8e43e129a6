"""The options of the measure `clean`."""

from __future__ import annotations

from dataclasses import dataclass

from brittle.commands import ROBUST, Command
from brittle.registry.options import option


@dataclass(frozen=True)
class CleanOptions:
    """The options of the measure `clean`."""

    confidence: float = option(0.95, "confidence of the interval", above=0, below=1, rows=False)


COMMAND = Command(
    "clean",
    "Measure accuracy on untouched images, with an interval.",
    CleanOptions,
    ROBUST,
    nuisance="none",
)
