"""What a run found of one classifier on one image set, image by image."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from brittle.measures.arrays import Array as Numbers
from brittle.measures.arrays import Mask, per_image, probability
from brittle.measures.base import ROWS, Cell, RunView
from brittle.measures.clean.measure import clean_columns
from brittle.measures.perturbation.evaluation import TRANSFER
from brittle.statistics.estimate import Estimate, mean


class ChangeSizes:
    """Pairs (n,) of an image and a target; and the images (m,) that were changed, in planned order."""

    def __init__(self, run: RunView, cell: Cell) -> None:
        self._kept: dict[str, pa.Table] = run.fold(cell).compute()
        rows, subject = self._kept[ROWS], run.images[cell.images]
        self.run, self.cell, self.rows, self.subject = run, cell, rows, subject
        self.places, self.image = np.unique(subject.places(rows["image"].to_numpy()), return_inverse=True)
        self.target, self.origin = (rows[name].to_numpy().astype(np.int64) for name in ("target", "origin"))
        self.reached = rows["reached"].to_numpy().astype(bool)
        self.linf, self.l2 = (rows[name].to_numpy().astype(np.float64) for name in ("linf", "l2"))
        clean = clean_columns(run, cell.classifier, cell.images)
        self.correct: Mask = (clean["rank"] == 0)[self.places]  # (m,)
        self.max_softmax = probability(clean["log_p_predicted"])[self.places]
        self.labelled = bool((run.references(cell.classifier, cell.images)[self.places] >= 0).all())

    @property
    def count(self) -> int:
        return len(self.places)

    @cached_property
    def size(self) -> Numbers:
        """(n,) L∞ of the change; infinite where the search failed."""
        return np.where(self.reached, self.linf, np.inf)

    @cached_property
    def right_untouched(self) -> Mask:
        """(n,) pairs of images that are right untouched: those whose sizes are reported."""
        return self.correct[self.image]

    def per_image(self, values: NDArray[Any], among: Mask | None = None) -> tuple[NDArray[np.int64], Numbers]:
        """The images that have any of the pairs `among` (n,), and the mean of their values (n,) there."""
        chosen = slice(None) if among is None else among
        there = np.unique(self.image[chosen])
        return there, per_image(values[chosen].astype(np.float64), self.image[chosen], self.count)[there]

    def of_images(self, values: Numbers, confidence: float, most: float = 1.0) -> Estimate:
        """The mean over images of their values (k,) in [0, most], for the population of such images."""
        return mean(values, confidence, support=(0.0, most), planned=self.count)

    def of_pairs(self, values: NDArray[Any], among: Mask, confidence: float, most: float = 1.0) -> Estimate:
        """The mean over images of their means over the pairs `among` (n,): images are what is drawn, targets are
        not."""
        return self.of_images(self.per_image(values, among)[1], confidence, most)

    def smallest(self, values: Numbers | None = None) -> Numbers:
        """(m,) the least of each image's values, by default sizes."""
        found = np.full(self.count, np.inf)
        np.minimum.at(found, self.image, self.size if values is None else values)
        return found

    @cached_property
    def left(self) -> Numbers:
        """(m,) the least change found at which an image has another label than untouched."""
        return self.smallest(self.rows["left"].to_numpy().astype(np.float64))

    def survived(self, name: str, share: float) -> tuple[Mask, Mask]:
        """(n,) where the share still holds after "rounded" or "jpeg", and where at least the label does."""
        log_p, predicted = (self.rows[f"{name}_{what}"].to_numpy() for what in ("log_p", "predicted"))
        same = np.where(self.target < 0, predicted != self.origin, predicted == self.target)
        return log_p >= np.log(share), same

    def transfers(self) -> pa.Table:
        return self._kept[TRANSFER]


def matrix(sizes: ChangeSizes, classes: int) -> tuple[Numbers, NDArray[np.int64]]:
    """The perturbation matrix (K, K): the change that the first right image of each class (row) needs towards every
    other (column); infinite where the search failed, NaN where nothing was searched. And those images' places (K,), −1
    where there is none."""
    found, shown = np.full((classes, classes), np.nan), np.full(classes, -1)
    for inside in np.flatnonzero(sizes.correct):
        here = np.flatnonzero((sizes.image == inside) & (sizes.target >= 0))
        if len(here) and shown[row := sizes.origin[here[0]]] < 0:
            shown[row] = sizes.places[inside]
            found[row, sizes.target[here]] = sizes.size[here]
    return found, shown
