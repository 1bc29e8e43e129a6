"""What measures of one layer at a time share: which layers and places on the axis a unit is of, and what a layer gives.

All images are measured against their own clean prediction; only those that are classified correctly are averaged.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr
from torch import Tensor

from brittle.classifiers.layers import INPUT, WEIGHTS
from brittle.errors import BrittleError
from brittle.measures.arrays import Mask
from brittle.measures.base import ON_IMAGES, About, Measure, MeasureInputs, RunView, Task, two_by_two
from brittle.measures.clean.measure import READ as CLEAN
from brittle.measures.clean.measure import predictions
from brittle.measures.layer_choice import MOST
from brittle.measures.plan import Grid, rows_per_unit
from brittle.types import Layered

T = TypeVar("T")
L = TypeVar("L", bound="PerLayer")
FEWEST_PATHS, MOST_PATHS = 64, 1024  # of a unit: enough to fill a batch, few enough to lose little
FEWEST_LAYERS = 4  # of which it can be said that something rises or falls


class LayerPlaces(NamedTuple):
    """What pairs (P,) of an image and a place on the axis are about."""

    layer: NDArray[np.int64]  # its number
    repeat: NDArray[np.int64]  # the field of noise, the noisy network, or which target


class LayerMeasure(Measure):
    """Disturbs one layer at a time. A unit is some repeats of one layer for some images, and the axis is layer by
    layer, repeat by repeat."""

    over: ClassVar = ON_IMAGES
    reads: ClassVar = (CLEAN,)
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

    def check(self, about: About, asked: MeasureInputs) -> None:
        if about.classifier.layers:
            self.chosen(about.classifier.layers, about.classifier.name)

    def plan(self, about: About) -> Grid:
        there, classes = about.classifier.layers, max(2, len(about.classifier.labels))
        chosen, width = self.chosen(there) if there else (), self.width(classes)
        paths = max(FEWEST_PATHS, min(MOST_PATHS, rows_per_unit(about.numbers) // 8))
        length = self.length(chosen, there, width)
        columns = places(np.arange(length), chosen, width)._asdict() if there else {}
        return Grid(about.count, length, max(1, paths // width), width, columns=columns)

    def by_layer(
        self, task: Task, name: str, work: Callable[[str, Tensor, Tensor], T]
    ) -> tuple[dict[str, Any], list[T], Tensor]:
        """The first columns of the rows, a row per pair; the work on each layer with its pairs; and the order that puts
        them back."""
        facts = task.facts[name]
        at = places(task.pairs.axis.numpy(), self.chosen(facts.layers, name), self.width(len(facts.labels)))
        repeat, parts, order = torch.from_numpy(at.repeat).to(task.device), [], []
        for number in dict.fromkeys(at.layer.tolist()):
            order.append(torch.from_numpy((at.layer == number).nonzero()[0]).to(task.device))
            parts.append(work(facts.layers[number], task.rows[order[-1]], repeat[order[-1]]))
        keys = task.keys() | {"layer": at.layer.astype(np.int32), "repeat": at.repeat.astype(np.int32)}
        return keys, parts, torch.cat(order).argsort()


def places(axis: NDArray[np.int64], chosen: Sequence[int], width: int) -> LayerPlaces:
    """What places (P,) on the axis stand for."""
    layer = np.minimum(axis // width, len(chosen) - 1)  # all that is left are networks
    return LayerPlaces(np.array(chosen, np.int64)[layer], axis - layer * width)


def clean_predictions(task: Task, name: str) -> Tensor:
    """(B,) on the device."""
    return torch.from_numpy(predictions(task.given[name], task.ids)).to(task.device)


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


class PerLayer(Protocol):
    """What was found of one layer, image by image."""

    def of(self, chosen: Mask) -> Self:
        """That of some images (M,)."""
        ...


class Disturbed(NamedTuple, Generic[L]):
    """All that was found of one classifier on one image set."""

    layers: tuple[str, ...]  # all that it has
    found: Mapping[int, L]  # by number, of those that were disturbed
    right: Mask  # (M,)
    calls: int

    def protocol(self, asked: Sequence[str], run: RunView, images: str) -> dict[str, Any]:
        """Which layers were disturbed, and on which images, of which some are classified correctly."""
        chosen = "as asked" if asked else "all" if len(self.layers) <= MOST else "evenly spaced"
        told = {"last": len(self.layers) - 1, "chosen": chosen, "images": len(self.right)}
        return told | {
            "seed": run.seed, "reference": run.images[images].reference, "correct": int(self.right.sum())
        }  # fmt: skip


Whole = Mapping[str, Mapping[str, Disturbed[L]]]  # image set → classifier


def summed_up(
    whole: Whole[L],
    result: Callable[[str, str, Disturbed[L]], dict[str, Any]],
    compared: Callable[[L, L, int], dict[str, Any]],
) -> dict[str, Any]:
    """A result for every image set and classifier; every pair of classifiers compared in the layers that mean the same
    in both, over the images that both get right; and the calls that were really made."""
    calls: dict[str, int] = {}
    results, pairs = [], []
    for images, found in whole.items():
        for name, each in found.items():
            calls[name] = calls.get(name, 0) + each.calls
            results.append({"classifier": name, "image_set": images} | result(images, name, each))
        pairs += [({"image_set": images} | names, one, other) for names, one, other in _alike(found)]
    comparisons = [names | compared(one, other, len(pairs)) for names, one, other in pairs]
    return {"results": results, "comparisons": comparisons, "calls": calls}


def _alike(found: Mapping[str, Disturbed[L]]) -> Iterator[tuple[dict[str, Any], L, L]]:
    """Layers that mean the same in both of a pair: all where they have the same ones, otherwise the input and the
    weights."""
    for names, one, other in two_by_two(found):
        both = one.right & other.right
        for number, mine in one.found.items():
            layer = one.layers[number]
            same = one.layers == other.layers or layer in (INPUT, WEIGHTS)
            theirs = other.found.get(other.layers.index(layer)) if same else None
            if theirs is not None:
                yield names | {"layer": layer, "number": number}, mine.of(both), theirs.of(both)


def rank_correlation(pairs: Sequence[tuple[int, float | None]]) -> float | None:
    """Spearman's, of a layer's number with what was found of it. No interval: layers are not a sample of anything."""
    known = np.array([pair for pair in pairs if pair[1] is not None], np.float64).reshape(-1, 2)
    if len(known) < FEWEST_LAYERS or len(np.unique(known[:, 1])) == 1:
        return None
    return float(spearmanr(known[:, 0], known[:, 1]).statistic)
