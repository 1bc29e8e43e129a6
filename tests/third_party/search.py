"""How severe a nuisance must become before a classifier changes its mind: a bisection per image.

Severity doubles along the path through one draw of θ until the prediction leaves the clean one, and the last step is
then halved. How many probes an image takes is known only afterwards; one that is wrong from the start takes none.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import pyarrow as pa
import torch

from brittle.extend import BrittleError, Grid, Measure, Read, fold, option, predictions, register_measure, stream_root


@register_measure("breaking-severity")
@dataclass(frozen=True)
class BreakingSeverity(Measure):
    """The severity at which the prediction first leaves the clean one, along one draw of θ."""

    reads: ClassVar = (Read("clean"),)

    start: float = option(0.5, "severity of the first probe", above=0)
    furthest: float = option(4.0, "severity of the last one", above=0)
    precision: float = option(0.05, "how closely the severity is told", above=0)
    per_unit: int = option(16, "images per unit", least=1)

    def __post_init__(self):
        if self.start > self.furthest:
            raise BrittleError(f"the search starts at {self.start}, beyond its end {self.furthest}", "Start earlier.")

    def plan(self, about):
        return Grid(about.count, 1, self.per_unit, 1)

    def calls(self, unit):
        doublings = 1 + math.ceil(math.log2(self.furthest / self.start))
        return unit.size * (doublings + math.ceil(math.log2(max(1, self.furthest / 2 / self.precision))))

    @torch.inference_mode()
    def evaluate(self, task):
        batch, nuisance = task.batch.take(task.pairs.rows), task.about.nuisance
        root = stream_root(task.about.seed, task.about.stream, batch.images.device)
        theta = nuisance.sample(batch, fold(fold(root, batch.ids), 0)[:, None])[:, 0]
        return {name: partial(tables, task, *self.search(task, name, batch, theta)) for name in task.classifiers}

    def search(self, task, name, batch, theta):
        """Severities (R,) that still keep the prediction and that no longer do, and every probe on the way."""
        clean = torch.from_numpy(predictions(task.given[name], task.ids))[task.pairs.rows]
        labels = task.labels[name].cpu()[task.pairs.rows]
        searched = (labels < 0) | (labels == clean)
        low, high = torch.zeros(len(clean)).double(), torch.full((len(clean),), math.inf).double()
        probes = []
        while True:
            kept = high.isinf()
            going = searched & torch.where(kept, low < self.furthest, high - low > self.precision)
            if not going.any():
                return searched, high, probes
            severity = torch.where(kept, (2 * low).clamp(self.start, self.furthest), (low + high) / 2)
            for rows in going.nonzero()[:, 0].split(task.batch_size):
                some, here = batch.take(rows.to(batch.images.device)), severity[rows].to(theta)
                moved = task.about.nuisance.at(theta[rows][:, None], here[:, None], some)[:, 0]
                answers = task.classifiers[name].log_probs(task.about.nuisance.apply(some, moved))
                left = answers.argmax(1).cpu() != clean[rows]
                task.tick(len(rows))
                probes.append((rows, severity[rows], left))
                high[rows[left]], low[rows[~left]] = severity[rows[left]], severity[rows[~left]]

    def summarise(self, run):
        results = []
        calls = dict.fromkeys(run.classifiers, 0)
        for cell in run.cells():
            images = run.table(cell, "images")
            severity = images["severity"].drop_null().to_numpy()
            probes = sum(rows.num_rows for rows in run.rows(cell))
            calls[cell.classifier] += probes
            results.append(
                {
                    "classifier": cell.classifier,
                    "image_set": cell.images,
                    "nuisance": cell.nuisance,
                    "searched": int(images["searched"].to_numpy(zero_copy_only=False).sum()),
                    "broken": len(severity),
                    "median_severity": float(np.median(severity)) if len(severity) else None,
                    "probes": probes,
                }
            )
        return {"results": results, "calls": calls}


def tables(task, searched, high, probes):
    units, ids = task.pairs.units.numpy().astype(np.int32), task.ids[task.pairs.rows]
    none = (torch.zeros(0).long(), torch.zeros(0).double(), torch.zeros(0).bool())
    rows, severity, left = (torch.cat(each).numpy() for each in zip(none, *probes, strict=True))
    order = np.argsort(rows, kind="stable")  # image by image, and so unit by unit
    rows, severity, left = rows[order], severity[order], left[order]
    broken = pa.array(high.numpy(), mask=high.isinf().numpy())
    return {
        "rows": pa.table({"unit": units[rows], "image": ids[rows], "severity": severity, "left": left}),
        "images": pa.table({"unit": units, "image": ids, "searched": searched.numpy(), "severity": broken}),
    }
