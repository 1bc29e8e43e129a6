"""What measures of layers share: which layers and places on the axis a unit is of, and what a layer gives.

All images are measured against their own clean prediction; only those that are classified correctly are averaged.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr
from torch import Tensor

from brittle.classifiers.computed_before import BeforeLayer, Resumable
from brittle.classifiers.layers import INPUT, WEIGHTS
from brittle.errors import BrittleError
from brittle.measures.arrays import Mask
from brittle.measures.base import ON_IMAGES, About, Measure, MeasureInputs, RunView, Task, two_by_two
from brittle.measures.clean.measure import READ as CLEAN
from brittle.measures.clean.measure import predictions
from brittle.measures.folds import ImageValues
from brittle.measures.layer_choice import MOST, ChosenLayers
from brittle.measures.plan import Grid, rows_per_unit
from brittle.types import Layered

T = TypeVar("T")
L = TypeVar("L", bound="PerLayer")
FEWEST_PATHS, MOST_PATHS = 64, 1024  # of a unit: enough to fill a batch, few enough to lose little
KEPT_NUMBERS = 1 << 27  # that are kept of what comes before a layer: half a gigabyte
FEWEST_LAYERS = 4  # of which it can be said that something rises or falls


class LayerPlaces(NamedTuple):
    """What pairs (P,) of an image and a place on the axis are about."""

    layer: NDArray[np.int64]  # its number, or that of a set
    repeat: NDArray[np.int64]  # the field of noise, the noisy network, or which target


class LayerMeasure(Measure):
    """Disturbs one layer at a time, or a set of layers at once. A unit is some repeats of these for some images, and
    the axis is layer by layer, repeat by repeat."""

    over: ClassVar = ON_IMAGES
    reads: ClassVar = (CLEAN,)
    needs: ClassVar[tuple[type, ...]] = (Layered,)

    @abstractmethod
    def chosen(self, layers: Sequence[str], classifier: str = "") -> tuple[ChosenLayers, ...]:
        """The layers that are disturbed, and the sets of layers."""

    @abstractmethod
    def width(self, classes: int) -> int:
        """Places on the axis per layer: fields of noise, or targets of an image."""

    def widths(self, chosen: Sequence[ChosenLayers], layers: Sequence[str], width: int) -> list[int]:
        """Places on the axis of each of these."""
        return [width] * len(chosen)

    def check(self, about: About, asked: MeasureInputs) -> None:
        if about.classifier.layers:
            self.chosen(about.classifier.layers, about.classifier.name)

    def plan(self, about: About) -> Grid:
        there, classes = about.classifier.layers, max(2, len(about.classifier.labels))
        chosen, width = self.chosen(there) if there else (), self.width(classes)
        paths = max(FEWEST_PATHS, min(MOST_PATHS, rows_per_unit(about.numbers) // 8))
        widths = self.widths(chosen, there, width)
        columns = places(np.arange(sum(widths)), chosen, widths)._asdict() if there else {}
        return Grid(about.count, sum(widths), max(1, paths // width), width, columns=columns)

    def by_layer(
        self, task: Task, name: str, work: Callable[[tuple[str, ...], Tensor, Tensor], T]
    ) -> tuple[dict[str, Any], list[T], Tensor]:
        """The first columns of the rows, a row per pair; the work on each layer, or set, with its pairs; and the order
        that puts them back."""
        facts = task.facts[name]
        chosen = self.chosen(facts.layers, name)
        at = places(task.pairs.axis.numpy(), chosen, self.widths(chosen, facts.layers, self.width(len(facts.labels))))
        repeat, parts, order = torch.from_numpy(at.repeat).to(task.device), [], []
        numbered = {each.number: each for each in chosen}
        for number in dict.fromkeys(at.layer.tolist()):
            order.append(torch.from_numpy((at.layer == number).nonzero()[0]).to(task.device))
            parts.append(work(numbered[number].names(facts.layers), task.rows[order[-1]], repeat[order[-1]]))
        keys = task.keys() | {"layer": at.layer.astype(np.int32), "repeat": at.repeat.astype(np.int32)}
        return keys, parts, torch.cat(order).argsort()

    def layer_values(self, about: About, names: Sequence[str]) -> ImageValues:
        """A fold that keeps these columns of every image and place on the axis."""
        layers, classes = about.classifier.layers, max(2, len(about.classifier.labels))
        begins = {each.number: begin for each, begin, _ in self.stretches(layers, classes)}
        width = sum(each for _, _, each in self.stretches(layers, classes))

        def of(rows: pa.Table) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
            numbers, inside = np.unique(rows["layer"].to_numpy(), return_inverse=True)
            first = np.array([begins[number] for number in numbers.tolist()], np.int64)[inside]
            return first + rows["repeat"].to_numpy(), {name: np.asarray(rows[name]) for name in names}

        return ImageValues(about.subject, width, of)

    def stretches(self, layers: Sequence[str], classes: int) -> Iterator[tuple[ChosenLayers, int, int]]:
        """Every layer, or set, that is disturbed, where it begins on the axis, and its places there."""
        chosen, begin = self.chosen(layers) if layers else (), 0
        for each, width in zip(chosen, self.widths(chosen, layers, self.width(classes)), strict=True):
            yield each, begin, width
            begin += width


def places(axis: NDArray[np.int64], chosen: Sequence[ChosenLayers], widths: Sequence[int]) -> LayerPlaces:
    """What places (P,) on the axis stand for."""
    ends = np.cumsum(widths, dtype=np.int64)
    which = np.searchsorted(ends, axis, side="right")
    numbers = np.array([each.number for each in chosen], np.int64)
    return LayerPlaces(numbers[which], axis - (ends - widths)[which])


def clean_predictions(task: Task, name: str) -> Tensor:
    """(B,) on the device."""
    return torch.from_numpy(predictions(task.given[name], task.ids)).to(task.device)


def before_layers(classifier: Any, layers: Sequence[str], images: Tensor, size: int) -> BeforeLayer | None:
    """What a classifier computes of images (M, C, H, W) before the first of some layers, where that can be kept."""
    first = min(layers, key=list(classifier.layers).index)
    if not isinstance(classifier, Resumable) or WEIGHTS in layers:
        return None
    return classifier.before(first, images, size, KEPT_NUMBERS)


@contextmanager
def from_layers(classifier: Any, kept: BeforeLayer | None, rows: Tensor) -> Iterator[None]:
    """Within it, the classifier is asked once about the images at `rows`, and computes what is not kept."""
    if kept is None:
        yield
        return
    with classifier.resumed(kept.of(rows)):
        yield


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
    found: Mapping[ChosenLayers, L]  # of those that were disturbed
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
    """Layers and sets that mean the same in both of a pair: all where they have the same layers, otherwise the input
    and the weights."""
    for names, one, other in two_by_two(found):
        both = one.right & other.right
        named = {chosen.names(other.layers): theirs for chosen, theirs in other.found.items()}
        for chosen, mine in one.found.items():
            layers = chosen.names(one.layers)
            same = one.layers == other.layers or {INPUT, WEIGHTS}.issuperset(layers)
            theirs = named.get(layers) if same else None
            if theirs is not None:
                yield names | chosen.entry(one.layers), mine.of(both), theirs.of(both)


def rank_correlation(layers: Sequence[Mapping[str, Any]], key: str) -> float | None:
    """Spearman's, of a layer's number with what was found of it, without the weights and sets of layers. No interval:
    layers are not a sample of anything."""
    single = [each for each in layers if each["number"] is not None and each["layer"] != WEIGHTS]
    known = np.array([(each["number"], each[key]) for each in single if each[key] is not None], np.float64)
    known = known.reshape(-1, 2)
    if len(known) < FEWEST_LAYERS or len(np.unique(known[:, 1])) == 1:
        return None
    return float(spearmanr(known[:, 0], known[:, 1]).statistic)
