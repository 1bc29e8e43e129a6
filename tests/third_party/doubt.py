"""How unsure classifiers are of the untouched images."""

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import torch

from brittle.extend import Grid, Measure, option, register_measure


@register_measure("doubt")
@dataclass(frozen=True)
class Doubt(Measure):
    """The mean entropy of the answers on the untouched images, in nats."""

    over: ClassVar = frozenset({"classifier", "images"})  # a cell names these, and no nuisance

    per_unit: int = option(256, "images per unit", least=1)

    def plan(self, about):
        return Grid(about.count, 1, self.per_unit, 1)  # images × one place on the axis

    @torch.inference_mode()
    def evaluate(self, task):
        images, keys = task.batch.images[task.pairs.rows], task.keys()  # a row per image: its unit, its id
        found = {}
        for name, classifier in task.classifiers.items():
            log_p = torch.cat([classifier.log_probs(part) for part in images.split(task.batch_size)])
            entropy = -(log_p.exp() * log_p).nansum(1)
            found[name] = lambda entropy=entropy: {  # fetched later: evaluate never waits for the device
                "rows": pa.table(keys | {"entropy": entropy.cpu().numpy()})
            }
        return found

    def summarise(self, run):
        results = []
        for cell in run.cells():
            mean = run.table(cell)["entropy"].to_numpy().mean(dtype=float)
            results.append({"classifier": cell.classifier, "image_set": cell.images, "entropy": float(mean)})
        return {"results": results}
