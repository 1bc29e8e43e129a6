"""What measures of one layer at a time share: which layers and places on the axis a unit is of, and what a layer gives.

All images are measured against their own clean prediction; only those that are classified correctly are averaged.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr
from torch import Tensor

from brittle.errors import BrittleError
from brittle.measures.base import CLASSIFIER, IMAGES, About, Asked, Measure, Read, RunView, Task
from brittle.measures.clean.measure import READ as CLEAN
from brittle.measures.clean.measure import predictions
from brittle.measures.layer_choice import MOST
from brittle.measures.plan import Grid, rows_per_unit
from brittle.types import Layered

T = TypeVar("T")
FEWEST_PATHS, MOST_PATHS = 64, 1024  # of a unit: enough to fill a batch, few enough to lose little
FEWEST_LAYERS = 4  # of which it can be said that something rises or falls


class Places(NamedTuple):
    """What pairs (P,) of an image and a place on the axis are about."""

    layer: NDArray[np.int64]  # its number
    repeat: NDArray[np.int64]  # the field of noise, the noisy network, or which target


class LayerMeasure(Measure):
    """Disturbs one layer at a time. A unit is some repeats of one layer for some images, and the axis is layer by
    layer, repeat by repeat."""

    over: ClassVar[frozenset[str]] = frozenset({CLASSIFIER, IMAGES})
    reads: ClassVar[tuple[Read, ...]] = (CLEAN,)
    needs: ClassVar[tuple[type, ...]] = (Layered,)

    @abstractmethod
    def chosen(self, layers: Sequence[str], classifier: str = "") -> tuple[int, ...]:
        """Numbers, rising, of the layers that are disturbed."""

    @abstractmethod
    def width(self, classes: int) -> int:
        """Places on the axis per layer: fields of noise, or targets of an image."""

    def length(self, chosen: Sequence[int], layers: Sequence[str], width: int) -> int:
        """Places on the whole axis."""
        return len(chosen) * width

    def check(self, about: About, asked: Asked) -> None:
        if about.classifier is not None and about.classifier.layers:
            self.chosen(about.classifier.layers, about.classifier.name)

    def plan(self, about: About) -> Grid:
        there, classes = (
            ((), 2) if about.classifier is None else (about.classifier.layers, len(about.classifier.labels))
        )
        chosen, width = self.chosen(there) if there else (), self.width(classes)
        paths = max(FEWEST_PATHS, min(MOST_PATHS, rows_per_unit(about.numbers) // 8))
        length = self.length(chosen, there, width)
        columns = places(np.arange(length), chosen, width)._asdict() if there else {}
        return Grid(about.count, length, max(1, paths // width), width, columns=columns)

    def by_layer(
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


def clean_predictions(task: Task, name: str) -> Tensor:
    """(B,) on the device."""
    return torch.from_numpy(predictions(task.given[name], task.ids)).to(task.batch.images.device)


def keys(task: Task, at: Places) -> dict[str, Any]:
    """The first columns of the rows."""
    return task.keys() | {"layer": at.layer.astype(np.int32), "repeat": at.repeat.astype(np.int32)}


def activations(classifier: Any, layer: str, images: Tensor) -> Tensor:
    """What a layer gives of some images (B, …)."""
    seen: list[Tensor] = []

    def remember(values: Tensor) -> Tensor:
        seen[:] = [values]
        return values.clone()

    with classifier.perturbed(layer, remember):
        classifier.log_probs(images)
    if not seen or len(seen[0]) != len(images):
        shape = "nothing" if not seen else "×".join(map(str, seen[0].shape))
        raise BrittleError(
            f"the layer {layer!r} gives {shape} for {len(images)} images: its first dimension is not the images",
            "Leave it out: name the layers that are meant.",
        )
    return seen[0]


def protocol(
    asked: Sequence[str], layers: Sequence[str], run: RunView, images: str, right: NDArray[np.bool_]
) -> dict[str, Any]:
    """Which layers were disturbed, and on which images (M,), of which some are classified correctly."""
    return {
        "last": len(layers) - 1,
        "chosen": "as asked" if asked else "all" if len(layers) <= MOST else "evenly spaced",
        "seed": run.seed,
        "reference": "label" if bool((run.images[images].labels >= 0).all()) else "clean prediction",
        "images": len(right),
        "correct": int(right.sum()),
    }


def rank_correlation(pairs: Sequence[tuple[int, float | None]]) -> float | None:
    """Spearman's, of a layer's number with what was found of it. No interval: layers are not a sample of anything."""
    known = np.array([pair for pair in pairs if pair[1] is not None], np.float64).reshape(-1, 2)
    if len(known) < FEWEST_LAYERS or len(np.unique(known[:, 1])) == 1:
        return None
    return float(spearmanr(known[:, 0], known[:, 1]).statistic)
