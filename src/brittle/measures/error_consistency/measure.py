"""Error consistency (Geirhos et al. 2020): whether classifiers, and people whose decisions are given, are wrong on the
same images. Derived from clean predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from brittle.errors import BrittleError
from brittle.measures import register
from brittle.measures.base import About, MeasureInputs, RunView
from brittle.measures.deciders import FromDecisions
from brittle.measures.error_consistency.options import ErrorConsistencyOptions
from brittle.measures.error_consistency.summary import summarise_consistency

KIND = "error-consistency"


@register(KIND)
@dataclass(frozen=True)
class ErrorConsistency(ErrorConsistencyOptions, FromDecisions):
    """Cohen's κ between the errors of every two classifiers, and of classifiers and people."""

    def check(self, about: About, asked: MeasureInputs) -> None:
        super().check(about, asked)
        if len(asked.classifiers) < 2 and not self.decisions:
            raise BrittleError(
                f"{KIND} compares the errors of two, and {next(iter(asked.classifiers))!r} is the only classifier",
                "Add another classifier, or decisions of people.",
            )

    def summarise(self, run: RunView) -> dict[str, Any]:
        return summarise_consistency(self, run)
