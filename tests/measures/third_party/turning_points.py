"""Turning points: the severity at which a classifier leaves its clean prediction, found by doubling and bisection.

How many steps a search takes depends on the answers, so how many rows there are is known only afterwards.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import pyarrow as pa
import torch

from brittle.measures import register
from brittle.measures.base import Measure, Read
from brittle.measures.clean.measure import predictions
from brittle.measures.draws import draw_theta
from brittle.measures.plan import Grid
from brittle.nuisances import transformed
from brittle.random import stream_root
from brittle.registry import option


@register("turning-points")
@dataclass(frozen=True)
class TurningPoints(Measure):
    """The severity at which the prediction turns, in some directions of θ per image."""

    reads: ClassVar = (Read("clean"),)

    directions: int = option(3, "directions of θ per image", least=1)
    most: float = option(8.0, "the severity at which a search is given up", above=0)
    precision: float = option(0.05, "how closely a turning point is found", above=0)

    def plan(self, about):
        return Grid(about.count, self.directions, 4, self.directions)

    def evaluate(self, task):
        nuisance, pairs = task.about.nuisance, task.pairs
        rows = pairs.rows.to(task.batch.images.device)
        root = stream_root(task.about.seed, f"{task.about.stream} turning points", rows.device)
        theta = draw_theta(nuisance, task.batch.take(rows), pairs.axis.to(rows.device), root)
        found = {}
        for name, classifier in task.classifiers.items():
            clean = torch.from_numpy(predictions(task.given[name], task.ids)).to(rows.device)

            def turned(which, severity, classifier=classifier, clean=clean):
                answers = []
                for part in torch.split(which, task.batch_size):
                    batch = task.batch.take(rows[part])
                    moved = transformed(nuisance, batch, theta[part], severity[part].to(theta))
                    answers.append(classifier.log_probs(moved).argmax(1) != clean[rows[part]])
                    task.tick(len(part))
                return torch.cat(answers).cpu()

            with torch.inference_mode():
                found[name] = partial(self.tables, task, self.search(len(rows), turned))
        return found

    def search(self, count, turned):
        """Every step of every search, and the severities (low, high] between which each prediction turns."""
        low, high = torch.zeros(count, dtype=torch.float64), torch.full((count,), torch.inf, dtype=torch.float64)
        at, steps, going = torch.full((count,), self.precision, dtype=torch.float64), [], torch.arange(count)
        while len(going):
            turns = turned(going, at)
            steps.append((going.clone(), at[going].clone(), turns))
            high[going[turns]], low[going[~turns]] = at[going[turns]], at[going[~turns]]
            at = torch.where(high.isinf(), 2 * at, (low + high) / 2)
            wide = torch.where(high.isinf(), at <= self.most, high - low > self.precision)
            going = going[wide[going]]
        return steps, low, high

    def tables(self, task, found):
        steps, low, high = found
        which = np.concatenate([each.numpy() for each, _, _ in steps])
        order = np.argsort(which, kind="stable")
        which = which[order]
        keys = {
            "unit": task.pairs.units.numpy(),
            "image": task.ids[task.pairs.rows.numpy()],
            "direction": task.pairs.axis.numpy(),
        }
        rows = {key: values[which] for key, values in keys.items()}
        rows["severity"] = np.concatenate([each.numpy() for _, each, _ in steps])[order]
        rows["turned"] = np.concatenate([each.numpy() for _, _, each in steps])[order]
        points = keys | {"low": low.numpy(), "high": [None if np.isinf(each) else each for each in high.tolist()]}
        return {"rows": pa.table(rows), "points": pa.table(points)}

    def summarise(self, run):
        results, calls = [], {}
        for cell in run.cells():
            points = [row for part in run.rows(cell, "points") for row in part.to_pylist()]
            turned = [row["high"] for row in points if row["high"] is not None]
            calls[cell.classifier] = calls.get(cell.classifier, 0) + sum(part.num_rows for part in run.rows(cell))
            results.append(
                {
                    "classifier": cell.classifier,
                    "image_set": cell.images,
                    "nuisance": cell.nuisance,
                    "turned": len(turned),
                    "of": len(points),
                    "median": float(np.median(turned)) if turned else None,
                }
            )
        return {"results": results, "calls": calls}
