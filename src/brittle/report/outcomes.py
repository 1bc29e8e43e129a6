"""Stored rows read back for the gallery: what was answered at given draws, and where it was confidently wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.engine.job import CLEAN
from brittle.engine.store import Cell, FolderStore
from brittle.measures.rows import to_columns


class Answer(NamedTuple):
    """What one classifier said: a class, its probability, and whether that was the label (or the clean prediction)."""

    predicted: int
    probability: float
    right: bool


class Mistake(NamedTuple):
    place: int  # of the image in planned order
    draw: int


class Rows:
    """One image set's rows in a run folder; only what lies within `reach` (images, draws) counts as a result."""

    def __init__(self, store: FolderStore, images: str, ids: NDArray[np.int64]) -> None:
        self.store, self.images, self.count = store, images, len(ids)
        self._order = np.argsort(ids, kind="stable")
        self._sorted = ids[self._order]

    def _parts(self, classifier: str, nuisance: str, reach: tuple[int, int]) -> Iterator[dict[str, NDArray[Any]]]:
        measure = CLEAN if nuisance == CLEAN else "robustness"
        for _, table in self.store.read(Cell(measure, classifier, self.images, nuisance)):
            columns = to_columns(table)
            place = self._order[np.searchsorted(self._sorted, columns["image"])]
            inside = (place < reach[0]) & (columns["draw"] < reach[1])
            yield {name: values[inside] for name, values in (columns | {"place": place}).items()}

    def answers(
        self, classifier: str, nuisance: str, wanted: Iterable[tuple[int, int]], reach: tuple[int, int]
    ) -> dict[tuple[int, int], Answer]:
        """The answers at (place, draw) pairs, as stored."""
        stride = reach[1] + 1
        keys = [place * stride + draw for place, draw in wanted if place < reach[0] and draw < reach[1]]
        found = {}
        for part in self._parts(classifier, nuisance, reach):
            here = np.isin(part["place"] * stride + part["draw"], keys)
            for place, draw, predicted, log_p, rank in zip(
                *(part[name][here].tolist() for name in ("place", "draw", "predicted", "log_p_predicted", "rank")),
                strict=True,
            ):
                found[place, draw] = Answer(predicted, float(np.exp(log_p)), rank == 0)
        return found

    def clean(self, classifier: str, places: Sequence[int]) -> dict[int, Answer]:
        """The answers on the untouched images; their rows have the draw −1."""
        found = self.answers(classifier, CLEAN, [(place, -1) for place in places], (self.count, 1))
        return {place: answer for (place, _), answer in found.items()}

    def mistakes(
        self, classifier: str, nuisance: str, reach: tuple[int, int], groups: NDArray[np.int64] | None, count: int
    ) -> list[Mistake]:
        """Where a classifier that is right on the original was most confidently wrong: one draw per image, two images
        per group. What it gets wrong untouched says nothing about the nuisance."""
        right = np.zeros(self.count, dtype=bool)
        for part in self._parts(classifier, CLEAN, (self.count, 1)):
            right[part["place"]] = part["rank"] == 0
        confidence, draw = np.full(self.count, -np.inf), np.zeros(self.count, dtype=np.int64)
        for part in self._parts(classifier, nuisance, reach):
            wrong = (part["rank"] > 0) & right[part["place"]]
            place, log_p, number = part["place"][wrong], part["log_p_predicted"][wrong], part["draw"][wrong]
            rising = np.lexsort((-number, log_p))  # the last write to a place wins: its highest, then its first draw
            best = np.full(self.count, -np.inf)
            first = np.zeros(self.count, dtype=np.int64)
            best[place[rising]], first[place[rising]] = log_p[rising], number[rising]
            better = best > confidence
            confidence[better], draw[better] = best[better], first[better]
        chosen: list[Mistake] = []
        taken: dict[int, int] = {}
        for place in np.argsort(-confidence, kind="stable").tolist():
            group = place if groups is None else int(groups[place])
            if len(chosen) == count or confidence[place] == -np.inf:
                break
            if taken.get(group, 0) < 2:
                taken[group] = taken.get(group, 0) + 1
                chosen.append(Mistake(place, int(draw[place])))
        return chosen
