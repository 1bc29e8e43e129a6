"""How the loss of a training fell, as a table of its own: what was trained is a unit, its steps are put together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from brittle.measures.base import Cell, RunView

LOSSES = "losses"  # the name of the table
POINTS = 60  # of a curve, at most: losses of single steps are noise, so neighbours are averaged


def losses_table(units: Sequence[int], losses: Sequence[Tensor]) -> pa.Table:
    """From the losses (J,) of every step, of J units that are trained side by side, sorted by unit."""
    every = torch.stack(list(losses)).double().cpu().numpy()
    size = -(-len(every) // POINTS)
    firsts = np.arange(0, len(every), size)
    curves = np.stack([every[first : first + size].mean(0) for first in firsts], 1)  # (J, points)
    steps = np.minimum(firsts + size, len(every))
    numbers = np.repeat(np.array(units, np.int64), len(firsts))
    return pa.table({"unit": numbers, "step": np.tile(steps, len(units)), "loss": curves.ravel()})


Curve = list[tuple[int, float]]  # last step, mean loss


def ends_of(curve: Curve) -> dict[str, float]:
    """For a summary: the mean losses of the first and of the last part of a training."""
    return {"loss_first": curve[0][1], "loss": curve[-1][1]}


def loss_curves(run: RunView, cell: Cell) -> dict[int, Curve]:
    """Of every unit of a cell."""
    found: dict[int, Curve] = {}
    for table in run.rows(cell, LOSSES):
        for unit, step, loss in zip(*(table[name].to_pylist() for name in ("unit", "step", "loss")), strict=True):
            found.setdefault(unit, []).append((step, loss))
    return found
