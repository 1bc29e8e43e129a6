"""Multiplicative noise N(1, σ²) on layers (UREM, section 4): where the prediction first changes as σ rises.

What a layer gives is multiplied by 1 + σz with z ~ N(0, I). With `noise = path` z is one field per image and repeat,
which σ scales; with `noise = fresh` there is another one at every σ. Noise on the weights makes one network for all
images. On a set of layers each has a field of its own, the one that it has alone, and σ is the same for all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from brittle.classifiers.layers import WEIGHTS
from brittle.measures.answers import Answers, PendingOutcome
from brittle.measures.changes import Untouched
from brittle.measures.criteria import left_prediction
from brittle.measures.graphs import Graphs
from brittle.measures.lanes import State, lanes_on
from brittle.measures.layered import activations, before_layers, from_layers
from brittle.measures.outcomes import Outcome, joined
from brittle.measures.sweep import Course, Crossings, sweep
from brittle.random import fold, key_of, normal_field, stream_root
from brittle.types import Classifier, Differentiable, LayerChange

STREAM = "layers"  # names the random numbers
CARRIED = 1 << 27  # numbers of z that paths carry along; longer ones are drawn again at every σ


def has_left_clean_prediction(found: Outcome) -> Tensor:
    """The prediction is another one, or the outputs are no longer numbers."""
    return left_prediction(found) | ~torch.isfinite(found.log_p_predicted)


@dataclass(frozen=True)
class NoisyLayers:
    """Noise on layers of a classifier, along paths of the images (M,) that it is asked about, a lane at a time."""

    answers: Answers
    name: str  # of the classifier, which is Layered
    layers: tuple[str, ...]  # all at once
    references: Tensor  # (M,)
    severities: Tensor  # (K,) σ, rising
    fresh: bool
    seed: int

    def crossings(self, image: Tensor, repeat: Tensor) -> Crossings:
        """Where the prediction first changes along each path: an image (P,) and a repeat (P,)."""
        return self._of_weights(image, repeat) if WEIGHTS in self.layers else self._of_activations(image, repeat)

    @property
    def classifier(self) -> Any:
        return self.answers.classifiers[self.name]

    @property
    def _asked(self) -> Answers:
        """Of the classifier as it is now: a graph would know of no change of a layer."""
        return replace(self.answers, classifiers={self.name: Normalised(self.classifier)}, graphs=Graphs())

    def _root(self, layer: str) -> Tensor:
        return fold(stream_root(self.seed, STREAM, self.references.device), key_of(layer))

    def _keys(self, layer: str, image: Tensor, repeat: Tensor | int) -> Tensor:
        """Of the noise on what a layer gives of images (P,)."""
        return fold(fold(self._root(layer), self.answers.batch.ids[image]), repeat)

    def _numbers(self, image: Tensor) -> dict[str, int]:
        """How many numbers each layer gives of an image, without the weights."""
        some = self.answers.batch.images[image[:2]]
        given = {layer: activations(self.classifier, layer, some) for layer in self.layers if layer != WEIGHTS}
        return {layer: math.prod(values.shape[1:]) for layer, values in given.items()}

    @contextmanager
    def _multiplied(self, sigma: Tensor, fields: Sequence[tuple[str, Tensor]]) -> Iterator[None]:
        """Within it layers have noise σ (B,) with fields z (B, n)."""
        with ExitStack() as changes:
            for layer, z in fields:
                changes.enter_context(self.classifier.perturbed(layer, multiplied(sigma, z)))
            yield

    def _of_activations(self, image: Tensor, repeat: Tensor) -> Crossings:
        size, numbers = self.answers.size, self._numbers(image)
        carried = not self.fresh and lanes_on(image.device) * size * sum(numbers.values()) <= CARRIED
        kept = before_layers(self.classifier, self.layers, self.answers.batch.images, size)

        def begin(path: Tensor) -> State:
            keys = {layer: self._keys(layer, image[path], repeat[path]) for layer in numbers}
            state = {f"keys {layer}": each for layer, each in keys.items()}
            if carried:
                state |= {f"z {layer}": normal_field(keys[layer], count) for layer, count in numbers.items()}
            return state

        def submit(path: Tensor, state: State, place: Tensor) -> PendingOutcome:
            fields = []
            for layer, count in numbers.items():
                keys = fold(state[f"keys {layer}"], place) if self.fresh else state[f"keys {layer}"]
                fields.append((layer, state[f"z {layer}"] if carried else normal_field(keys, count)))
            with from_layers(self.classifier, kept, image[path]), self._multiplied(self.severities[place], fields):
                return self._asked.submit(self.name, image[path], {}, Untouched(), self.references)

        return sweep(Course(len(image), size, begin, submit, image.device), self.severities, has_left_clean_prediction)

    def _of_weights(self, image: Tensor, repeat: Tensor) -> Crossings:
        """Network by network: what has not crossed yet is asked again at the next σ, in batches of one size."""
        numbers = self._numbers(image)
        place, met = torch.zeros_like(repeat), torch.zeros_like(repeat, dtype=torch.bool)
        said = torch.zeros(len(repeat), len(Outcome._fields), device=repeat.device)
        for number in sorted(set(repeat.tolist())):
            waiting = (repeat == number).nonzero()[:, 0]
            networks = _NoisyWeights(fold(self._root(WEIGHTS), number), self.fresh)
            for at, sigma in enumerate(self.severities.tolist()):
                with self.classifier.perturbed(WEIGHTS, networks.at(at, sigma)):
                    found = self._of_network(image[waiting], number, at, numbers)
                over = has_left_clean_prediction(found)
                place[waiting], met[waiting], said[waiting] = at, over, found.packed().to(said)
                waiting = waiting[~over]
                if not len(waiting):
                    break
        return Crossings(met, place, self.severities[place], Outcome.unpacked(said))

    def _of_network(self, image: Tensor, repeat: int, place: int, numbers: dict[str, int]) -> Outcome:
        """What is said of images (P,) at one σ, with noise on what other layers give, where there are any."""
        if not numbers:
            right = {self.name: self.references}
            return self._asked.all(image, {}, Untouched(), right, padded=True, stays=True).outcomes[self.name]()
        found = []
        for part in self.answers.parts(image, {}, padded=True):
            fields = []
            for layer, count in numbers.items():
                keys = self._keys(layer, part.rows, repeat)
                fields.append((layer, normal_field(fold(keys, place) if self.fresh else keys, count)))
            with self._multiplied(self.severities[place].expand(len(part.rows)), fields):
                said = self._asked.submit(self.name, part.rows, {}, Untouched(), self.references)()
            found.append(said.take(slice(part.own)))
        return joined(found)


class _NoisyWeights:
    """The networks of one repeat: at every σ the weights times 1 + σz."""

    def __init__(self, key: Tensor, fresh: bool) -> None:
        self.key, self.fresh = key, fresh
        self._z: Tensor | None = None

    def at(self, place: int, sigma: float) -> LayerChange:
        def change(weights: Tensor) -> Tensor:
            if self._z is None or self.fresh:
                key = fold(self.key, place) if self.fresh else self.key
                self._z = normal_field(key.to(weights.device)[None], weights.shape[1])
            return weights * (1 + sigma * self._z)

        return change


def multiplied(sigma: Tensor, z: Tensor) -> LayerChange:
    """What a layer gives of B images times 1 + σz, for σ (B,) and z (B, n)."""

    def change(values: Tensor) -> Tensor:
        factor = 1 + sigma[:, None] * z
        return values * factor.view(values.shape).to(values)

    return change


@dataclass(frozen=True)
class Normalised:
    """A classifier whose outputs are a distribution also where noise on those of a network that ends in a softmax has
    left none: they are then scaled to one."""

    inner: Classifier

    @property
    def labels(self) -> Sequence[str]:
        return self.inner.labels

    @property
    def can(self) -> frozenset[str]:
        return self.inner.can

    def log_probs(self, images: Tensor) -> Tensor:
        if isinstance(self.inner, Differentiable):
            return self.inner.logits(images).log_softmax(1)
        return self.inner.log_probs(images)
