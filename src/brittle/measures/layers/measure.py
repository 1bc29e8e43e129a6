"""Layers: the noise on each layer of a classifier, and on its weights, at which its prediction first changes (UREM,
section 4 and figure 7), with the probability P* of the label that it changes to. Or the change of what a layer gives
that is searched for until a target is predicted (figure 2's other choice).

All images are measured against their own clean prediction; only those that are classified correctly are averaged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.errors import BrittleError
from brittle.measures import register
from brittle.measures.base import CLASSIFIER, IMAGES, ROWS, About, Asked, Measure, Pending, Read, RunView, Tables, Task
from brittle.measures.clean.measure import READ as CLEAN
from brittle.measures.clean.measure import predictions
from brittle.measures.layers.choice import chosen_layers
from brittle.measures.layers.noise import LayerNoise
from brittle.measures.layers.options import LayersOptions
from brittle.measures.layers.search import Changes, LayerSearch
from brittle.measures.layers.summary import summarise_layers
from brittle.measures.layers.targeted_summary import summarise_changes
from brittle.measures.plan import Grid, Unit, rows_per_unit
from brittle.measures.sweep import Crossings, in_order
from brittle.types import Differentiable, Layered

T = TypeVar("T")
KIND = "layers"
KEPT = ("predicted", "log_p_predicted", "log_p_label")
NO_LABEL = np.int32(-1)  # where noise has made the outputs infinite or no numbers at all
MOST_SEVERITIES = 10**5
EXPECTED_CALLS = 40  # of a search, for progress: nobody knows beforehand
FEWEST_PATHS, MOST_PATHS = 64, 1024  # of a unit: enough to fill a batch, few enough to lose little


class Places(NamedTuple):
    """What pairs (P,) of an image and a place on the axis are about."""

    layer: NDArray[np.int64]  # its number
    repeat: NDArray[np.int64]  # the field of noise, the noisy network, or which target


@register(KIND)
@dataclass(frozen=True)
class Layers(LayersOptions, Measure):
    """σ of multiplicative noise on each layer at which the prediction changes, or the size of a targeted change."""

    over: ClassVar[frozenset[str]] = frozenset({CLASSIFIER, IMAGES})
    reads: ClassVar[tuple[Read, ...]] = (CLEAN,)

    @property
    def severities(self) -> Tensor:
        """(K,) float64: every σ that is tried; the last is where paths are censored."""
        return self.step * torch.arange(1, int(self.limit / self.step + 1e-9) + 1, dtype=torch.float64)

    @property
    def end(self) -> float:
        """The last σ, which may lie below the limit."""
        return self.step * len(self.severities)

    @property
    def targeted(self) -> bool:
        return self.attack == "targeted"

    @property
    def needs(self) -> Sequence[type]:
        return (Layered, Differentiable) if self.targeted else (Layered,)

    def chosen(self, layers: Sequence[str], classifier: str = "") -> tuple[int, ...]:
        """Numbers of the layers that are disturbed; a search changes no weights."""
        if not self.targeted:
            return chosen_layers(self.layers, layers, classifier)
        return chosen_layers(self.layers, layers[:-1], classifier) if self.layers else chosen_layers((), layers)[:-1]

    def width(self, classes: int) -> int:
        """Places on the axis per layer: fields of noise, or targets of an image."""
        return min(self.targets, classes - 1) if self.targeted else self.repeats

    def check(self, about: About, asked: Asked) -> None:
        if not self.targeted and not 1 <= self.limit / self.step + 1e-9 < MOST_SEVERITIES:
            raise BrittleError(
                f"layers: σ can't rise to {self.limit:g} in steps of {self.step:g}",
                f"Give a step below the limit, and fewer than {MOST_SEVERITIES} of them.",
            )
        if about.classifier is not None and about.classifier.layers:
            self.chosen(about.classifier.layers, about.classifier.name)

    def plan(self, about: About) -> Grid:
        """A unit is some repeats of one layer for some images. The axis is layer by layer, repeat by repeat, and last
        network by network."""
        there, classes = (
            ((), 2) if about.classifier is None else (about.classifier.layers, len(about.classifier.labels))
        )
        chosen, width = self.chosen(there) if there else (), self.width(classes)
        networks = self.networks if chosen and chosen[-1] == len(there) - 1 else 0
        axis = (len(chosen) - bool(networks)) * width + networks
        paths = max(FEWEST_PATHS, min(MOST_PATHS, rows_per_unit(about.numbers) // 8))
        at = places(np.arange(axis), chosen, width)
        columns = {"layer": at.layer, "repeat": at.repeat} if there else {}
        return Grid(about.count, axis, max(1, paths // width), width, columns=columns)

    def calls(self, unit: Unit) -> int:
        return unit.size * (EXPECTED_CALLS if self.targeted else len(self.severities))

    def evaluate(self, task: Task) -> Mapping[str, Pending]:
        if self.targeted:
            return {name: partial(_tables_of_changes, task, *self._searched(task, name)) for name in task.classifiers}
        with torch.inference_mode():
            return {name: partial(_tables, task, *self._crossed(task, name)) for name in task.classifiers}

    def summarise(self, run: RunView) -> dict[str, Any]:
        return summarise_changes(self, run) if self.targeted else summarise_layers(self, run)

    def _crossed(self, task: Task, name: str) -> tuple[Places, Crossings]:
        """Which layer and repeat every pair is of, and where its path crossed."""

        def along(layer: str, rows: Tensor, repeat: Tensor) -> Crossings:
            return LayerNoise(
                task.classifiers[name],
                layer,
                task.batch.images,
                task.batch.ids,
                _origin(task, name),
                self.severities.float().to(rows.device),
                self.noise == "fresh",
                task.about.seed,
                task.batch_size,
                task.tick,
            ).crossings(rows, repeat)

        at, parts, order = self._by_layer(task, name, along)
        return at, in_order(parts, order)

    def _searched(self, task: Task, name: str) -> tuple[Places, Changes]:
        """Which layer and target every pair is of, and the change that was found."""

        def search(layer: str, rows: Tensor, slot: Tensor) -> Changes:
            return LayerSearch(
                task.classifiers[name],
                layer,
                task.batch.images,
                task.batch.ids,
                _origin(task, name),
                self.share,
                self.rate,
                self.steps,
                task.about.seed,
                task.batch_size,
                lambda pairs: task.tick(EXPECTED_CALLS * pairs),
            ).changes(rows, slot)

        at, parts, order = self._by_layer(task, name, search)
        return at, Changes(*(torch.cat(each)[order] for each in zip(*parts, strict=True)))

    def _by_layer(
        self, task: Task, name: str, work: Callable[[str, Tensor, Tensor], T]
    ) -> tuple[Places, list[T], Tensor]:
        """What every pair is about, the work on each layer with its pairs, and the order that puts them back."""
        classifier: Any = task.classifiers[name]  # Layered, if only by way of what it wraps
        device = task.batch.images.device
        width = self.width(len(classifier.labels))
        at = places(task.pairs.axis.numpy(), self.chosen(classifier.layers, name), width)
        rows, repeat = task.pairs.rows.to(device), torch.from_numpy(at.repeat).to(device)
        parts, order = [], []
        for number in dict.fromkeys(at.layer.tolist()):
            order.append(torch.from_numpy((at.layer == number).nonzero()[0]).to(device))
            parts.append(work(classifier.layers[number], rows[order[-1]], repeat[order[-1]]))
        return at, parts, torch.cat(order).argsort()


def places(axis: NDArray[np.int64], chosen: Sequence[int], width: int) -> Places:
    """What places (P,) on the axis stand for."""
    layer = np.minimum(axis // width, len(chosen) - 1)  # all that is left are networks
    return Places(np.array(chosen, np.int64)[layer], axis - layer * width)


def _origin(task: Task, name: str) -> Tensor:
    """(B,) the clean predictions."""
    return torch.from_numpy(predictions(task.given[name], task.ids)).to(task.batch.images.device)


def _keys(task: Task, at: Places) -> dict[str, Any]:
    return task.keys() | {"layer": at.layer.astype(np.int32), "repeat": at.repeat.astype(np.int32)}


def _tables(task: Task, at: Places, found: Crossings) -> Tables:
    said = found.outcome.columns()
    finite = np.isfinite(said["log_p_predicted"])
    columns: dict[str, Any] = _keys(task, at) | {
        "broke": found.met.cpu().numpy(),
        "place": found.place.cpu().numpy().astype(np.int32),
        "severity": found.severity.cpu().numpy(),
    }
    columns |= {name: said[name] for name in KEPT}
    return {ROWS: pa.table(columns | {"predicted": np.where(finite, said["predicted"], NO_LABEL)})}


def _tables_of_changes(task: Task, at: Places, found: Changes) -> Tables:
    columns = {name: values.cpu().numpy() for name, values in found._asdict().items()}
    whole = {name: columns[name].astype(np.int32) for name in ("target", "calls")}
    return {ROWS: pa.table(_keys(task, at) | columns | whole)}
