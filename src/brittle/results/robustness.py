"""Results of measuring robustness, and of hardening."""

from __future__ import annotations

from dataclasses import dataclass

from brittle.hardening.harden import HardenedClassifier
from brittle.measures.before_after.measure import KIND as DIFFERENCE
from brittle.report.harden_console import hardened_text
from brittle.results.base import Result, RunPresentation


class RobustnessResult(Result, kind="robustness"):
    """Robustness: `rho`, `interval`, `accuracy_nuisance` and what stands beside them, and paired
    differences of classifiers as `comparisons`."""


@dataclass(frozen=True, repr=False)
class HardenResult(HardenedClassifier, RunPresentation):
    """A hardened classifier: `before`, `after`, their `difference`, and the `rounds`, of which one was `chosen`."""

    _measure = DIFFERENCE

    def __repr__(self) -> str:
        return hardened_text(self)

    def _repr_html_(self) -> str:
        from brittle.report.notebook import hardened_html  # matplotlib, when something is drawn

        return hardened_html(self.run, self.summary)
