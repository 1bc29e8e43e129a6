"""What a section is to the page: what one measure shows of itself, wherever results are seen."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from brittle.engine.view import MeasureView
from brittle.measures.base import NUISANCE
from brittle.report.blocks import Block, Weighted
from brittle.report.page.loaded import LoadedRun

T = TypeVar("T")
Summary = Mapping[str, Any]  # a measure's entry of summary["measures"]
Row = Mapping[str, Any]  # of a list in it


def compared(images: str, first: str, second: str) -> tuple[str, ...]:
    """What a finding is about that compares two classifiers."""
    return "compared", images, *sorted((first, second))


def clean_accuracy(images: str) -> tuple[str, ...]:
    """What a finding is about that tells accuracy on the untouched images."""
    return "clean accuracy", images


@dataclass(frozen=True)
class MeasureRun:
    """A run as the section of one of its measures sees it."""

    name: str  # of the measure in the study
    summary: Summary
    whole: LoadedRun
    _made: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    @property
    def view(self) -> MeasureView | None:
        """The measure's rows; None where some of its images or nuisances, or the measure itself, can't be loaded any
        more, so that only the summary speaks."""
        job = self.whole.job
        assigned = job.assignments.get(self.name)
        if assigned is None or not set(assigned.images) <= set(job.images):
            return None
        return self.whole.view(self.name) if set(assigned.axis(NUISANCE)) <= {"", *job.nuisances} else None

    @property
    def many_sets(self) -> bool:
        return self.whole.many_sets

    def once(self, what: Hashable, make: Callable[[], T]) -> T:
        """What is costly and needed in several places is made once."""
        if what not in self._made:
            self._made[what] = make()
        found: T = self._made[what]
        return found


class Section(Protocol):
    """Shows one kind of measure. `brittle.report.sections.base.BaseSection` has a default for everything."""

    @property
    def title(self) -> str:
        """What the measure is called in headings; "" for its kind."""
        ...

    def brief(self, summary: Summary) -> Sequence[Block]:
        """The gist, from the summary alone: for the console, Markdown and notebooks."""
        ...

    def blocks(self, run: MeasureRun) -> Sequence[Block]:
        """All there is, also from rows, images and classifiers: for the page and as JSON. The page gathers warnings,
        definitions, limits, citations and references of all sections, each kind in one place."""
        ...

    def top(self, run: MeasureRun) -> Sequence[Weighted]:
        """What may stand on top of the report, with how much it matters."""
        ...

    def table(self, summary: Summary) -> pa.Table:
        """All numbers as data, for CSV, notebooks and people's own plots."""
        ...
