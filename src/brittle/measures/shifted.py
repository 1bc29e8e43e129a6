"""Right answers at every severity of a shift, as measures derived from failure points read them.

A shift is a nuisance with a severity, or one of an image set that comes in scales. Severity 0 is the clean answer,
where there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.measures.base import Read, RunView
from brittle.measures.failure_points.measure import KIND
from brittle.measures.failure_points.trajectories import PathFold, followed, trajectories
from brittle.measures.severities import scale_of

READ = Read(KIND, options={"only": None})  # every severity of every path


class ShiftedAnswers(NamedTuple):
    """Several classifiers on the same M images of one set under one shift, at S severities above 0."""

    images: NDArray[np.int64]  # (M,) ids
    severities: tuple[float, ...]  # (S,) as they are reported
    unit: str
    paths: int  # per image
    right: Mapping[str, NDArray[np.int64]]  # (M, S): paths that are right at the severities above 0
    clean: Mapping[str, NDArray[np.int64]] | None  # (M,): those that are right at 0; None where there are no images

    def share(self, classifier: str) -> NDArray[np.float64]:
        """(M, S) of an image's paths that are right."""
        found: NDArray[np.float64] = self.right[classifier] / self.paths
        return found

    def clean_share(self, classifier: str) -> NDArray[np.float64]:
        """(M,) the same at severity 0; NaN where there are no images."""
        if self.clean is None:
            return np.full(len(self.images), np.nan)
        found: NDArray[np.float64] = self.clean[classifier] / self.paths
        return found

    def accuracy(self, classifier: str) -> NDArray[np.float64]:
        """(S,)"""
        found: NDArray[np.float64] = self.share(classifier).mean(0)
        return found


def shifts_with_paths(run: RunView) -> dict[str, list[str]]:
    """Image set → the shifts that a measure is asked about, without those under which no image has a path."""
    measured = run.read(KIND)
    assert measured is not None
    found: dict[str, list[str]] = {}
    for cell in run.cells():
        if followed(measured, cell.images, cell.nuisance).any():
            found.setdefault(cell.images, []).append(cell.nuisance)
    return found


def shifted_answers(run: RunView, images: str, nuisance: str) -> ShiftedAnswers:
    """What a measure that reads failure points is given of an image set under a shift, of all its classifiers."""
    measured = run.read(KIND)
    assert measured is not None
    names = list(measured.classifiers)
    scale, right, clean = scale_of(measured.nuisances[nuisance]), {}, {}
    fold = measured.fold(measured.cell(names[0], images, nuisance))
    assert isinstance(fold, PathFold)
    for name in names:
        found = trajectories(measured, name, images, nuisance)
        here = (~found.wrong).sum(1)
        right[name], clean[name] = here[:, 1:], here[:, 0]
    told = tuple(float(f"{scale.per_severity * value:.6g}") for value in fold.severities.astype(np.float64))
    ids = measured.images[images].ids[found.places]
    return ShiftedAnswers(ids, told, scale.unit, fold.shape[1], right, clean if found.origin else None)
