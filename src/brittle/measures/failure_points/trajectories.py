"""Stored rows as arrays: what a classifier said of every image along its path, from the untouched image on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle.errors import Failure
from brittle.measures.arrays import Array
from brittle.measures.base import RunView
from brittle.measures.clean.measure import clean_columns
from brittle.measures.outcomes import outcome_columns
from brittle.measures.severities import followable

REFINED = "refined"  # the table of failure points that were narrowed


class Trajectories(NamedTuple):
    """M images × R paths × 1 + K severities, the first of which is 0; without an origin nothing is seen there."""

    places: NDArray[np.int64]  # (M,) of the images in planned order
    labels: NDArray[np.int64]  # (M,) as the classifier counts its classes
    seen: NDArray[np.bool_]  # (M, R, 1 + K); all of them unless paths end at their first failure
    wrong: NDArray[np.bool_]  # (M, R, 1 + K)
    predicted: NDArray[np.int64]  # (M, R, 1 + K)
    log_p_label: Array  # (M, R, 1 + K)
    log_p_predicted: Array  # (M, R, 1 + K)
    origin: bool  # whether there are images at severity 0

    @property
    def begin(self) -> int:
        """The place of the lowest severity that there is."""
        return 0 if self.origin else 1

    @property
    def whole(self) -> bool:
        """Whether all paths were followed to the end."""
        return bool(self.seen[..., 1:].all())

    @property
    def first(self) -> NDArray[np.int64]:
        """(M, R) where each path fails first: 0 for an image that is known to be wrong untouched, 1 + K for one that
        never fails (CNS-Bench 2025, equation 3, on a grid)."""
        failed = self.wrong & self.seen
        return np.asarray(np.where(failed.any(-1), failed.argmax(-1), failed.shape[-1]), np.int64)

    @property
    def recovered(self) -> NDArray[np.bool_]:
        """(M, R) whether a path is right at a severity above one where it is wrong."""
        after = np.logical_or.accumulate(self.wrong & self.seen, -1)
        return np.asarray((after & ~self.wrong & self.seen).any(-1), bool)


def followed(run: RunView, images: str, nuisance: str) -> NDArray[np.bool_]:
    """(M,) which images of a set have a path: those with a label, all of whose scales exist."""
    subject = run.images[images]
    return (subject.labels >= 0) & followable(run.nuisances[nuisance], subject.ids)


def trajectories(run: RunView, classifier: str, images: str, nuisance: str, count: int, repeats: int) -> Trajectories:
    """What is stored of a cell with `count` severities above 0; two rows of one image, path and severity are an
    error."""
    subject, rows = run.images[images], run.table(run.cell(classifier, images, nuisance))
    places = followed(run, images, nuisance).nonzero()[0]
    shape = (len(places), repeats, 1 + count)
    own = np.full(len(subject), -1)
    own[places] = np.arange(len(places))
    columns = outcome_columns(rows, "repeat", "place")
    image = own[subject.places(rows["image"].to_numpy())]
    at = np.ravel_multi_index((image, columns["repeat"], columns["place"] + 1), shape)
    if len(np.unique(at)) < len(at):
        twice = int(at[np.bincount(at, minlength=1)[at] > 1][0])
        which, repeat, place = np.unravel_index(twice, shape)
        raise Failure(
            f"the image with the id {int(subject.ids[places[which]])} of {images!r} is there twice under {nuisance!r} "
            f"(path {int(repeat)}, severity {int(place)} of {count})",
            "Remove the run folder and carry it out again.",
        )
    clean = clean_columns(run, classifier, images) if subject.origin else None

    def spread(name: str, kind: type) -> NDArray[Any]:
        made: NDArray[Any] = np.zeros(shape, kind)
        if clean is not None:
            made[..., 0] = clean[name][places].astype(kind)[:, None]
        made.reshape(-1)[at] = columns[name].astype(kind)
        return made

    seen = np.zeros(shape, bool)
    seen[..., 0] = subject.origin
    seen.reshape(-1)[at] = True
    return Trajectories(
        places,
        run.references(classifier, images)[places],
        seen,
        spread("rank", np.int64) > 0,
        spread("predicted", np.int64),
        spread("log_p_label", np.float64),
        spread("log_p_predicted", np.float64),
        subject.origin,
    )
