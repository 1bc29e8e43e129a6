"""Layers: the noise on each layer of a classifier, and on its weights, at which its prediction first changes (UREM,
section 4 and figure 7), with the probability P* of the label that it changes to.

All images are measured against their own clean prediction; only those that are classified correctly are averaged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.errors import BrittleError
from brittle.measures import register
from brittle.measures.base import CLASSIFIER, IMAGES, ROWS, About, Measure, Pending, Read, RunView, Tables, Task
from brittle.measures.clean.measure import READ as CLEAN
from brittle.measures.clean.measure import predictions
from brittle.measures.layers.choice import chosen_layers
from brittle.measures.layers.noise import LayerNoise
from brittle.measures.layers.options import LayersOptions
from brittle.measures.layers.summary import summarise_layers
from brittle.measures.plan import Grid, Unit, rows_per_unit
from brittle.measures.sweep import Crossings, in_order
from brittle.types import Layered

KIND = "layers"
KEPT = ("predicted", "log_p_predicted", "log_p_label")
NO_LABEL = np.int32(-1)  # where noise has made the outputs infinite or no numbers at all
MOST_SEVERITIES = 10**5
FEWEST_PATHS, MOST_PATHS = 64, 1024  # of a unit: enough to fill a batch, few enough to lose little


class Places(NamedTuple):
    """What pairs (P,) of an image and a place on the axis are about."""

    layer: NDArray[np.int64]  # its number
    repeat: NDArray[np.int64]  # the field of noise, or the noisy network


@register(KIND)
@dataclass(frozen=True)
class Layers(LayersOptions, Measure):
    """σ of multiplicative noise on each layer at which the prediction first changes, and P*."""

    over: ClassVar[frozenset[str]] = frozenset({CLASSIFIER, IMAGES})
    reads: ClassVar[tuple[Read, ...]] = (CLEAN,)
    needs: ClassVar[tuple[type, ...]] = (Layered,)

    @property
    def severities(self) -> Tensor:
        """(K,) float64: every σ that is tried; the last is where paths are censored."""
        return self.step * torch.arange(1, int(self.limit / self.step + 1e-9) + 1, dtype=torch.float64)

    @property
    def end(self) -> float:
        """The last σ, which may lie below the limit."""
        return self.step * len(self.severities)

    def chosen(self, layers: tuple[str, ...], classifier: str = "") -> tuple[int, ...]:
        """Numbers of the layers that are disturbed."""
        return chosen_layers(self.layers, layers, classifier)

    def check(self, about: About) -> None:
        if not 1 <= self.limit / self.step + 1e-9 < MOST_SEVERITIES:
            raise BrittleError(
                f"layers: σ can't rise to {self.limit:g} in steps of {self.step:g}",
                f"Give a step below the limit, and fewer than {MOST_SEVERITIES} of them.",
            )
        if about.classifier is not None and about.classifier.layers:
            self.chosen(about.classifier.layers, about.classifier.name)

    def plan(self, about: About) -> Grid:
        """A unit is some repeats of one layer for some images. The axis is layer by layer, repeat by repeat, and last
        network by network."""
        there = () if about.classifier is None else about.classifier.layers
        chosen = self.chosen(there) if there else ()
        networks = self.networks if chosen and chosen[-1] == len(there) - 1 else 0
        axis = (len(chosen) - bool(networks)) * self.repeats + networks
        paths = max(FEWEST_PATHS, min(MOST_PATHS, rows_per_unit(about.numbers) // 8))
        return Grid(about.count, axis, max(1, paths // self.repeats), self.repeats)

    def calls(self, unit: Unit) -> int:
        return unit.size * len(self.severities)

    @torch.inference_mode()
    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        return {name: partial(_tables, task, *self._crossed(task, name)) for name in task.classifiers}

    def summarise(self, run: RunView) -> dict[str, Any]:
        return summarise_layers(self, run)

    def _crossed(self, task: Task, name: str) -> tuple[Places, Crossings]:
        """Which layer and repeat every pair is of, and where its path crossed."""
        classifier, device = task.classifiers[name], task.batch.images.device
        assert isinstance(classifier, Layered)
        layers = tuple(classifier.layers)
        at = self.places(task.pairs.axis.numpy(), self.chosen(layers, name))
        rows, repeat = task.pairs.rows.to(device), torch.from_numpy(at.repeat).to(device)
        references = torch.from_numpy(predictions(task.given[name], task.ids)).to(device)
        parts, order = [], []
        for number in dict.fromkeys(at.layer.tolist()):
            noise = LayerNoise(
                classifier,
                layers[number],
                task.batch.images,
                task.batch.ids,
                references,
                self.severities.float().to(device),
                self.noise == "fresh",
                task.about.seed,
                task.batch_size,
                task.tick,
            )
            order.append(torch.from_numpy((at.layer == number).nonzero()[0]).to(device))
            parts.append(noise.crossings(rows[order[-1]], repeat[order[-1]]))
        return at, in_order(parts, torch.cat(order).argsort())

    def places(self, axis: NDArray[np.int64], chosen: Sequence[int]) -> Places:
        """What places (P,) on the axis stand for."""
        layer = np.minimum(axis // self.repeats, len(chosen) - 1)  # all that is left are networks
        return Places(np.array(chosen, np.int64)[layer], axis - layer * self.repeats)


def _tables(task: Task, at: Places, found: Crossings) -> Tables:
    said = found.outcome.columns()
    finite = np.isfinite(said["log_p_predicted"])
    columns: dict[str, Any] = task.keys() | {
        "layer": at.layer.astype(np.int32),
        "repeat": at.repeat.astype(np.int32),
        "broke": found.met.cpu().numpy(),
        "place": found.place.cpu().numpy().astype(np.int32),
        "severity": found.severity.cpu().numpy(),
    }
    columns |= {name: said[name] for name in KEPT}
    return {ROWS: pa.table(columns | {"predicted": np.where(finite, said["predicted"], NO_LABEL)})}
