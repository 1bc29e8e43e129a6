"""Stored rows read back for the gallery: what was answered at given draws, and where it was confidently wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.engine.view import MeasureView
from brittle.measures.base import ImageSetFacts, RunView
from brittle.measures.clean.measure import KIND as CLEAN
from brittle.measures.designs import draws_in_order
from brittle.measures.outcomes import outcome_columns

Place = tuple[int, int]  # an image's place in planned order, and a draw


class StoredAnswer(NamedTuple):
    """What one classifier said: a class, its probability, and whether that was the label (or the clean prediction)."""

    predicted: int
    probability: float
    right: bool


class CountedDraws(NamedTuple):
    """What counts as a result: so many images and draws from the first on."""

    images: int
    draws: int


class MistakePlace(NamedTuple):
    place: int  # of the image in planned order
    draw: int


@dataclass(frozen=True)
class StoredAnswers:
    """The rows of one image set."""

    view: MeasureView
    images: str

    @cached_property
    def subject(self) -> ImageSetFacts:
        return self.view.images[self.images]

    def _parts(self, classifier: str, nuisance: str, reach: CountedDraws) -> Iterator[dict[str, NDArray[Any]]]:
        for rows in self.view.rows(self.view.cell(classifier, self.images, nuisance)):
            columns = outcome_columns(rows, "image", "draw")
            place = self.subject.places(columns["image"])
            inside = (place < reach.images) & (draws_in_order(columns["draw"]) < reach.draws)
            yield {name: values[inside] for name, values in (columns | {"place": place}).items()}

    def _clean(self, classifier: str) -> Iterator[dict[str, NDArray[Any]]]:
        """On the untouched images."""
        view: RunView | None = self.view.read(CLEAN)
        assert view is not None
        for rows in view.rows(view.cell(classifier, self.images)):
            columns = outcome_columns(rows, "image")
            yield columns | {"place": self.subject.places(columns["image"])}

    def answers(
        self, classifier: str, nuisance: str, wanted: Iterable[Place], reach: CountedDraws
    ) -> dict[Place, StoredAnswer]:
        """The answers at places and draws, as stored."""
        stride = 1 << 31  # more than any number of a draw
        keys = [place * stride + draw for place, draw in wanted]
        found: dict[Place, StoredAnswer] = {}
        for part in self._parts(classifier, nuisance, reach):
            here = np.isin(part["place"].astype(np.int64) * stride + part["draw"], keys)
            found |= zip(
                zip(part["place"][here].tolist(), part["draw"][here].tolist(), strict=True),
                _answers(part, here),
                strict=True,
            )
        return found

    def clean(self, classifier: str, places: Sequence[int]) -> dict[int, StoredAnswer]:
        """The answers on the untouched images."""
        found: dict[int, StoredAnswer] = {}
        for part in self._clean(classifier):
            here = np.isin(part["place"], list(places))
            found |= zip(part["place"][here].tolist(), _answers(part, here), strict=True)
        return found

    def mistakes(
        self, classifier: str, nuisance: str, reach: CountedDraws, groups: NDArray[np.int64] | None, count: int
    ) -> list[MistakePlace]:
        """Where a classifier that is right on the original was most confidently wrong: one draw per image, two images
        per group. What it gets wrong untouched says nothing about the nuisance."""
        right = np.zeros(len(self.subject), dtype=bool)
        for part in self._clean(classifier):
            right[part["place"]] = part["rank"] == 0
        confidence, draw = np.full(len(self.subject), -np.inf), np.zeros(len(self.subject), dtype=np.int64)
        for part in self._parts(classifier, nuisance, reach):
            wrong = (part["rank"] > 0) & right[part["place"]]
            place, log_p, number = part["place"][wrong], part["log_p_predicted"][wrong], part["draw"][wrong]
            rising = np.lexsort((-number, log_p))  # the last write to a place wins: its highest, then its first draw
            best = np.full(len(self.subject), -np.inf)
            first = np.zeros(len(self.subject), dtype=np.int64)
            best[place[rising]], first[place[rising]] = log_p[rising], number[rising]
            better = best > confidence
            confidence[better], draw[better] = best[better], first[better]
        chosen: list[MistakePlace] = []
        taken: dict[int, int] = {}
        for place in np.argsort(-confidence, kind="stable").tolist():
            group = place if groups is None else int(groups[place])
            if len(chosen) == count or confidence[place] == -np.inf:
                break
            if taken.get(group, 0) < 2:
                taken[group] = taken.get(group, 0) + 1
                chosen.append(MistakePlace(place, int(draw[place])))
        return chosen


def _answers(part: dict[str, NDArray[Any]], here: NDArray[np.bool_]) -> Iterator[StoredAnswer]:
    columns = (part[name][here].tolist() for name in ("predicted", "log_p_predicted", "rank"))
    for predicted, log_p, rank in zip(*columns, strict=True):
        yield StoredAnswer(predicted, float(np.exp(log_p)), rank == 0)
