"""What a section is to the page: what one measure shows of itself, wherever results are seen."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import pyarrow as pa
from markupsafe import Markup

from brittle.engine.view import View
from brittle.measures.base import NUISANCE
from brittle.measures.distortion import BESIDE
from brittle.report.blocks import Block, Weighted
from brittle.report.page import distortion
from brittle.report.page.colours import Look
from brittle.report.page.loaded import LoadedRun

T = TypeVar("T")
Summary = Mapping[str, Any]  # a measure's entry of summary["measures"]


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
    looks: Mapping[str, Look]  # of classifiers
    key: str  # unique on the page: begins the ids of everything in the section
    beside: Callable[[str, str], Markup]  # all that sections show beside an image set under a nuisance
    see: Callable[[str, str], Markup]  # a link to that
    _made: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    @property
    def view(self) -> View | None:
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

    def anchor(self, word: str) -> str:
        """An id for a part of the section."""
        return f"{self.key}-{word}"

    def distortion(self, images: str | None = None, nuisance: str | None = None) -> Markup:
        """Whether what the measure's distortions get wrong goes to one class, on an image set and under a nuisance, or
        all that was not asked for before."""
        shown, rows = self.once("shown distortions", set[tuple[str, str]]), []
        for row in self._interference:
            cell = row["image_set"], row["nuisance"]
            if cell not in shown and images in (None, cell[0]) and nuisance in (None, cell[1]):
                rows.append(row)
        shown.update((row["image_set"], row["nuisance"]) for row in rows)
        return distortion.rendered(rows, self.many_sets)

    @property
    def _interference(self) -> Sequence[Mapping[str, Any]]:
        found: Sequence[Mapping[str, Any]] = self.summary.get(BESIDE, ())
        return found

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
