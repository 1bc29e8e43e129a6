"""Stored rows as arrays: what a classifier said of every image along its path, from the untouched image on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from brittle.errors import Failure
from brittle.measures.base import ImageSetFacts, RunView
from brittle.measures.clean.measure import clean_columns
from brittle.measures.folds import ImageValues, JoinedFold, KeptRows
from brittle.measures.severities import followable

REFINED = "refined"  # the table of failure points that were narrowed
PATHS = "paths"
KEPT = ("predicted", "rank", "log_p_label", "log_p_predicted")
NARROWED = ("image", "repeat", "low", "high", "calls")


class PathFold(JoinedFold):
    """17 bytes per image, path and severity, and what was narrowed: 28 bytes per failure."""

    def __init__(self, subject: ImageSetFacts, severities: NDArray[np.float32], repeats: int) -> None:
        """`severities` (K,) above 0."""
        count = len(severities)

        def of(rows: pa.Table) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
            place = rows["repeat"].to_numpy().astype(np.int64) * count + rows["place"].to_numpy()
            return place, {name: rows[name].to_numpy() for name in KEPT}

        self.severities, self.shape = severities, (len(subject), repeats, count)
        super().__init__({PATHS: ImageValues(subject, repeats * count, of), REFINED: KeptRows({REFINED: NARROWED})})


class Trajectories(NamedTuple):
    """M images × R paths × 1 + K severities, the first of which is 0; without an origin nothing is seen there."""

    places: NDArray[np.int64]  # (M,) of the images in planned order
    labels: NDArray[np.int64]  # (M,) as the classifier counts its classes
    seen: NDArray[np.bool_]  # (M, R, 1 + K); all of them unless paths end at their first failure
    wrong: NDArray[np.bool_]  # (M, R, 1 + K)
    predicted: NDArray[np.integer[Any]]  # (M, R, 1 + K)
    log_p_label: NDArray[np.floating[Any]]  # (M, R, 1 + K)
    log_p_predicted: NDArray[np.floating[Any]]  # (M, R, 1 + K)
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


def trajectories(run: RunView, classifier: str, images: str, nuisance: str) -> Trajectories:
    """What is stored of a cell; two rows of one image, path and severity are an error."""
    subject, fold = run.images[images], run.fold(run.cell(classifier, images, nuisance))
    assert isinstance(fold, PathFold)
    found: ImageValues = fold.compute()[PATHS]
    places = followed(run, images, nuisance).nonzero()[0]
    if found.twice:
        image, (repeat, place) = found.twice[0][0], divmod(found.twice[0][1], fold.shape[2])
        raise Failure(
            f"the image with the id {int(subject.ids[image])} of {images!r} is there twice under {nuisance!r} "
            f"(path {repeat}, severity {place + 1} of {fold.shape[2]})",
            "Remove the run folder and carry it out again.",
        )
    clean = clean_columns(run, classifier, images) if subject.origin else None

    def along(above: NDArray[Any], at_0: NDArray[Any]) -> NDArray[Any]:
        paths = above.reshape(fold.shape)[places]
        first = np.broadcast_to(at_0[..., None, None], (len(places), fold.shape[1], 1))
        return np.concatenate([first.astype(paths.dtype), paths], -1)

    def said(name: str) -> NDArray[Any]:
        return along(found[name], np.zeros(len(places)) if clean is None else clean[name][places])

    return Trajectories(
        places,
        run.references(classifier, images)[places],
        along(found.seen, np.full(len(places), subject.origin)),
        said("rank") > 0,
        said("predicted"),
        said("log_p_label"),
        said("log_p_predicted"),
        subject.origin,
    )
