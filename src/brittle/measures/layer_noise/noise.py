"""Multiplicative noise N(1, σ²) on one layer (UREM, section 4): where the prediction first changes as σ rises.

What a layer gives is multiplied by 1 + σz with z ~ N(0, I). With `noise = path` z is one field per image and repeat,
which σ scales; with `noise = fresh` there is another one at every σ. Noise on the weights makes one network for all
images.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
from brittle.measures.layered import activations
from brittle.measures.outcomes import Outcome
from brittle.measures.sweep import Course, Crossings, sweep
from brittle.random import fold, key_of, normal_field, stream_root
from brittle.types import Classifier, Differentiable, LayerChange

STREAM = "layers"  # names the random numbers
CARRIED = 1 << 27  # numbers of z that paths carry along; longer ones are drawn again at every σ


def has_left_clean_prediction(found: Outcome) -> Tensor:
    """The prediction is another one, or the outputs are no longer numbers."""
    return left_prediction(found) | ~torch.isfinite(found.log_p_predicted)


@dataclass(frozen=True)
class NoisyLayer:
    """Noise on one layer of a classifier, along paths of the images (M,) that it is asked about, a lane at a time."""

    answers: Answers
    name: str  # of the classifier, which is Layered
    layer: str
    references: Tensor  # (M,)
    severities: Tensor  # (K,) σ, rising
    fresh: bool
    seed: int

    def crossings(self, image: Tensor, repeat: Tensor) -> Crossings:
        """Where the prediction first changes along each path: an image (P,) and a repeat (P,)."""
        return self._of_weights(image, repeat) if self.layer == WEIGHTS else self._of_activations(image, repeat)

    @property
    def classifier(self) -> Any:
        return self.answers.classifiers[self.name]

    @property
    def _asked(self) -> Answers:
        """Of the classifier as it is now: a graph would know of no change of a layer."""
        return replace(self.answers, classifiers={self.name: Normalised(self.classifier)}, graphs=Graphs())

    @property
    def _root(self) -> Tensor:
        return fold(stream_root(self.seed, STREAM, self.references.device), key_of(self.layer))

    def _of_activations(self, image: Tensor, repeat: Tensor) -> Crossings:
        size, batch = self.answers.size, self.answers.batch
        numbers = math.prod(activations(self.classifier, self.layer, batch.images[image[:2]]).shape[1:])
        carried = not self.fresh and lanes_on(image.device) * size * numbers <= CARRIED

        def begin(path: Tensor) -> State:
            keys = fold(fold(self._root, batch.ids[image[path]]), repeat[path])
            return {"keys": keys} | ({"z": normal_field(keys, numbers)} if carried else {})

        def submit(path: Tensor, state: State, place: Tensor) -> PendingOutcome:
            keys = fold(state["keys"], place) if self.fresh else state["keys"]
            z = state["z"] if carried else normal_field(keys, numbers)
            with self.classifier.perturbed(self.layer, multiplied(self.severities[place], z)):
                return self._asked.submit(self.name, image[path], {}, Untouched(), self.references)

        return sweep(Course(len(image), size, begin, submit, image.device), self.severities, has_left_clean_prediction)

    def _of_weights(self, image: Tensor, repeat: Tensor) -> Crossings:
        """Network by network: what has not crossed yet is asked again at the next σ, in batches of one size."""
        place, met = torch.zeros_like(repeat), torch.zeros_like(repeat, dtype=torch.bool)
        said = torch.zeros(len(repeat), len(Outcome._fields), device=repeat.device)
        right = {self.name: self.references}
        for number in sorted(set(repeat.tolist())):
            waiting = (repeat == number).nonzero()[:, 0]
            networks = _NoisyWeights(fold(self._root, number), self.fresh)
            for at, sigma in enumerate(self.severities.tolist()):
                with self.classifier.perturbed(WEIGHTS, networks.at(at, sigma)):
                    answered = self._asked.all(image[waiting], {}, Untouched(), right, padded=True, stays=True)
                    found = answered.outcomes[self.name]()
                over = has_left_clean_prediction(found)
                place[waiting], met[waiting], said[waiting] = at, over, found.packed().to(said)
                waiting = waiting[~over]
                if not len(waiting):
                    break
        return Crossings(met, place, self.severities[place], Outcome.unpacked(said))


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
