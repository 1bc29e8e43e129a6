"""Clean predictions: one row per image, and accuracy with its interval.

Other measures read these rows: an image without a label is measured against its own clean prediction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.errors import Failure
from brittle.measures import register
from brittle.measures.answers import PendingOutcome
from brittle.measures.base import (
    ON_IMAGES,
    ROWS,
    About,
    ImageSetFacts,
    Measure,
    Pending,
    Read,
    ReadRows,
    RunView,
    Tables,
    Task,
    tabled,
    values_by_id,
)
from brittle.measures.changes import Untouched
from brittle.measures.clean.options import CleanOptions
from brittle.measures.folds import ImageValues
from brittle.measures.plan import Grid, rows_per_unit
from brittle.statistics.estimate import Estimate, mean

KIND = "clean"
READ = Read(KIND)
MOST_PER_UNIT = 256
COLUMNS = ("predicted", "rank", "log_p_label", "log_p_predicted")  # that summaries read


@register(KIND)
@dataclass(frozen=True)
class Clean(CleanOptions, Measure):
    """What classifiers say of the untouched images: accuracy and confidence. Of a set without any, nothing."""

    over: ClassVar = ON_IMAGES

    def plan(self, about: About) -> Grid:
        there = about.count if about.subject.origin else 0
        return Grid(there, 1, min(MOST_PER_UNIT, rows_per_unit(about.numbers)), 1, columns={})

    @torch.inference_mode()
    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        said = task.answers.all(task.rows, {}, Untouched(), task.labels)
        return {name: partial(_tables, task, pending) for name, pending in said.outcomes.items()}

    def fold(self, about: About) -> ImageValues:
        return image_columns(about.subject)

    def summarise(self, run: RunView) -> dict[str, Any]:
        results = []
        for cell in (cell for cell in run.cells() if run.images[cell.images].origin):
            rows = said_of(run, cell.classifier, cell.images, None)
            right = (rows["rank"] == 0).astype(np.float64)
            accuracy = mean(right, self.confidence) if run.images[cell.images].labelled else Estimate()
            said = np.exp(rows["log_p_predicted"].astype(np.float64))
            results.append(
                {"classifier": cell.classifier, "image_set": cell.images, "images": len(right)}
                | accuracy.named("accuracy_clean")
                | {"confidence": self.confidence, "mean_confidence": float(said.mean())}
            )
        return {"results": results}


def _tables(task: Task, pending: PendingOutcome) -> Tables:
    return tabled(task.keys() | task.fetched(pending()))


def predictions(given: ReadRows, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """The clean prediction of each of these images."""
    return values_by_id(given[KIND][ROWS], "predicted", ids).astype(np.int64)


def references(task: Task, classifier: str) -> Tensor:
    """(B,) what counts as right: the label, and the clean prediction where there is none."""
    labels = task.labels[classifier]
    predicted = torch.from_numpy(predictions(task.given[classifier], task.ids))
    return torch.where(labels < 0, predicted.to(labels.device), labels)


def clean_right(run: RunView, classifier: str, images: str) -> NDArray[np.bool_]:
    """(M,) which images of a set are classified correctly untouched."""
    return np.asarray(clean_columns(run, classifier, images)["rank"] == 0)


def clean_columns(run: RunView, classifier: str, images: str, count: int | None = None) -> dict[str, NDArray[Any]]:
    """What was said of the first `count` images of a set, all by default, in planned order."""
    view = run.read(KIND)
    assert view is not None
    return said_of(view, classifier, images, count)


def image_columns(subject: ImageSetFacts) -> ImageValues:
    """17 bytes per image."""

    def of(rows: pa.Table) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
        return np.zeros(rows.num_rows, np.int64), {name: rows[name].to_numpy() for name in COLUMNS}

    return ImageValues(subject, 1, of)


def said_of(run: RunView, classifier: str, images: str, count: int | None) -> dict[str, NDArray[Any]]:
    """The same from the run as this measure itself reads it back."""
    found: ImageValues = run.fold(run.cell(classifier, images)).compute()
    lacking = np.flatnonzero(~found.seen[:count, 0])
    if len(lacking):
        raise Failure(
            f"the clean row of the image with the id {int(run.images[images].ids[lacking[0]])} is not there",
            "Give the same command again: what is missing is computed again.",
        )
    return {name: found[name][:count, 0] for name in COLUMNS}
