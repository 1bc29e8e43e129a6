"""Mirror: how often a classifier keeps its prediction when an image is mirrored. It needs no nuisance."""

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import torch

from brittle.measures import register
from brittle.measures.base import Measure
from brittle.measures.plan import Grid
from brittle.registry import option


@register("mirror")
@dataclass(frozen=True)
class Mirror(Measure):
    """The share of images whose prediction is the same in the mirror."""

    over: ClassVar = frozenset({"classifier", "images"})

    upright: bool = option(True, "mirrored left to right, not top to bottom")

    def plan(self, about):
        return Grid(about.count, 1, 5, 1)

    def calls(self, unit):
        return 2 * unit.size

    @torch.inference_mode()
    def evaluate(self, task):
        units, rows = task.pairs.units.numpy(), task.pairs.rows
        found = {}
        for name, classifier in task.classifiers.items():
            same = []
            for part in torch.split(rows, task.batch_size):
                images = task.batch.images[part.to(task.batch.images.device)]
                mirrored = images.flip(-1 if self.upright else -2)
                same.append(classifier.log_probs(images).argmax(1) == classifier.log_probs(mirrored).argmax(1))
            found[name] = lambda same=torch.cat(same): {
                "rows": pa.table({"unit": units, "image": task.ids[rows.numpy()], "same": same.cpu().numpy()})
            }
        return found

    def summarise(self, run):
        results = []
        for cell in run.cells():
            same = [row for part in run.rows(cell) for row in part["same"].to_pylist()]
            results.append(
                {
                    "classifier": cell.classifier,
                    "image_set": cell.images,
                    "same": sum(same) / len(same),
                    "of": len(same),
                }
            )
        return {"results": results}
