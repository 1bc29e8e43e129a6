"""How unsure classifiers are of the untouched images, and a section that shows it."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import pyarrow as pa
import torch

from brittle.measures import register
from brittle.measures.base import Measure
from brittle.measures.plan import Grid
from brittle.registry import option
from brittle.report.blocks import Table
from brittle.report.blocks.text import ClassifierName, Estimate
from brittle.report.sections.base import BaseSection


@register("doubt")
@dataclass(frozen=True)
class Doubt(Measure):
    """The mean entropy of the answers on the untouched images, in nats."""

    over: ClassVar = frozenset({"classifier", "images"})

    per_unit: int = option(256, "images per unit", least=1)

    def plan(self, about):
        return Grid(about.count, 1, self.per_unit, 1)

    @torch.inference_mode()
    def evaluate(self, task):
        return {name: partial(tables, task, self.entropy(task, name)) for name in task.classifiers}

    def entropy(self, task, name):
        parts = []
        for rows in task.pairs.rows.to(task.batch.images.device).split(task.batch_size):
            log_p = task.classifiers[name].log_probs(task.batch.images[rows])
            parts.append(-(log_p.exp() * log_p).nansum(1))
        return torch.cat(parts)

    def summarise(self, run):
        results = []
        for cell in run.cells():
            entropy = run.table(cell)["entropy"].to_numpy()
            results.append(
                {
                    "classifier": cell.classifier,
                    "image_set": cell.images,
                    "images": len(entropy),
                    "entropy": float(entropy.mean(dtype=np.float64)),
                }
            )
        calls = dict.fromkeys(run.classifiers, 0)
        for row in results:
            calls[row["classifier"]] += row["images"]
        return {"results": results, "calls": calls}


def tables(task, entropy):
    units, ids = task.pairs.units.numpy().astype(np.int32), task.ids[task.pairs.rows]
    return {"rows": pa.table({"unit": units, "image": ids, "entropy": entropy.cpu().numpy()})}


class DoubtSection(BaseSection):
    title = "Doubt"

    def blocks(self, run):
        rows = (
            (ClassifierName(row["classifier"]), f"doubts {row['image_set']}", Estimate(row["entropy"], unit="nats"))
            for row in run.summary["results"]
        )
        return [Table(("classifier", "what", "entropy"), tuple(rows))]
