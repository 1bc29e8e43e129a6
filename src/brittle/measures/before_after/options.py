"""The options of the measure `before-after`."""

from __future__ import annotations

from dataclasses import dataclass

from brittle.registry.options import option


@dataclass(frozen=True)
class BeforeAfterOptions:
    """Which classifiers are held against each other."""

    before: str = option("before", "the classifier as it was")
    after: str = option("after", "what became of it")
