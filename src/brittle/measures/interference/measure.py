"""The DI index (Marcu & Prügel-Bennett 2022, equation 1): do the errors that a distortion makes go to one class?

Derived entirely from the rows of robustness and of clean predictions, class by class. What it says in one line stands
beside every measure that distorts images (`measures.distortion`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from brittle.measures import register
from brittle.measures.base import IMAGES, NUISANCE, Derived, Read, RunView
from brittle.measures.distortion import interference, models
from brittle.measures.interference.options import InterferenceOptions

KIND = "interference"
ROBUSTNESS = "robustness"


@register(KIND)
@dataclass(frozen=True)
class Interference(InterferenceOptions, Derived):
    """Whether the errors that a nuisance makes go to one class, over several runs of a model: the DI index."""

    over: ClassVar = frozenset({IMAGES, NUISANCE})
    reads: ClassVar = (Read(ROBUSTNESS),)

    def summarise(self, run: RunView) -> dict[str, Any]:
        measured = run.read(ROBUSTNESS)
        assert measured is not None
        results, warnings = [], []
        for cell in run.cells():
            if not measured.images[cell.images].labelled:
                warnings.append(
                    f"interference on {cell.images!r} is left out: it needs labels, and some images have none"
                )
                continue
            for group, names in models(measured):
                results.append(
                    interference(measured, group, names, cell.images, cell.nuisance, self.simulations, self.confidence)
                )
        return {"results": results, "warnings": warnings}
