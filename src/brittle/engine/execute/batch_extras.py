"""Extras of a batch, computed through one classifier: what a nuisance reads beside the images."""

from __future__ import annotations

import torch
from torch import Tensor

from brittle.engine.check.foreign_code import attribute_errors
from brittle.engine.job import Job
from brittle.errors import BrittleError
from brittle.extras import extras
from brittle.measures.base import Cell
from brittle.types import Batch


def with_extras(job: Job, batch: Batch, labels: Tensor, nuisance: str, classifier: str) -> Batch:
    """The batch with all that a nuisance needs; `labels` (B,) are as the classifier counts its classes."""
    needs = sorted(job.needs(nuisance))
    if not needs:
        return batch
    live = job.classifiers[classifier]
    counted = batch._replace(labels=labels)
    with attribute_errors({f"classifier {classifier!r}": live}, f"classifier {classifier!r}"):
        found = {need: extras.build(need).compute(live, counted) for need in needs}
    return batch._replace(extras={**batch.extras, **found})


def check_extras(job: Job, cell: Cell) -> None:
    """Refuses, before work begins, a classifier that can't give what a cell's nuisance reads."""
    for need in sorted(job.needs(cell.nuisance)) if cell.images else ():
        extra = extras.build(need)
        if not cell.classifier:
            if not len(job.plan(cell)):
                continue
            raise BrittleError(
                f"the nuisance {cell.nuisance!r} needs {need}, which differs by classifier, and the measure "
                f"{cell.measure!r} looks at none",
                "Use another nuisance for it.",
            )
        live = job.classifiers[cell.classifier]
        batch = job.images[cell.images].images.batch([0], job.device)
        label = torch.from_numpy(job.references(cell.classifier, cell.images)[:1]).to(batch.labels)
        with attribute_errors({f"classifier {cell.classifier!r}": live}, f"classifier {cell.classifier!r}"):
            extra.check(cell.classifier, live, batch._replace(labels=label))
