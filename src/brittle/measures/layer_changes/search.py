"""The targeted attack on a layer (UREM, figure 2): the change δ of what it gives at which p(target) reaches a share.

The search is that for images, on what a layer gives: a ↦ a + δ. It works in units of the layer's root mean square for
the image at hand, δ = rms(a)·u, so that one step size serves layers of every scale. Nothing is clipped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from brittle.measures.answers import Answers
from brittle.measures.lanes import lane_size
from brittle.measures.layer_changes.options import LayerChangesOptions
from brittle.measures.layered import activations
from brittle.measures.targeted_search import Search, SearchGoal, SearchResult, adam_search
from brittle.memory import slices
from brittle.random import fold, stream_root, uniform
from brittle.types import LayerChange

STREAM = "layers targets"  # names the random numbers
EXPECTED_CALLS = 40  # of a search, for progress: not known beforehand
HELD = 1 << 26  # numbers of what layers give that are held at once


class LayerChangeResult(NamedTuple):
    """What n pairs of an image and a target came to."""

    target: Tensor  # (n,)
    reached: Tensor  # (n,) bool
    linf: Tensor  # (n,) of δ, where the search ended
    l2: Tensor  # (n,)
    rms: Tensor  # (n,) of what the layer gives of the untouched image
    relative: Tensor  # (n,) root mean square of δ over that of what the layer gives
    log_p: Tensor  # (n,) of the target
    calls: Tensor  # (n,)
    finite: Tensor  # (n,) bool


@dataclass(frozen=True)
class LayerSearch:
    """The search on one layer, for the images (M, C, H, W) that a classifier is asked about."""

    options: LayerChangesOptions
    answers: Answers
    classifier: Any  # Layered and Differentiable
    layer: str
    origin: Tensor  # (M,) clean predictions
    seed: int

    @property
    def images(self) -> Tensor:
        return self.answers.batch.images

    def changes(self, image: Tensor, slot: Tensor) -> LayerChangeResult:
        """The change of each pair: an image (P,) and which of its targets (P,)."""
        ids, classes = self.answers.batch.ids[image], len(self.classifier.labels)
        target = drawn_targets(self.seed, ids, self.origin[image], slot, classes)
        shape, rms = self._scale()
        parts = []
        for part in slices(len(image), max(1, HELD // math.prod(shape))):
            found = self._searched(image[part], target[part], shape, rms)
            scale = rms[image[part]]
            relative = found.l2 / math.sqrt(math.prod(shape))
            parts.append(
                LayerChangeResult(
                    target[part],
                    found.reached,
                    scale * found.linf,
                    scale * found.l2,
                    scale,
                    relative,
                    found.log_p,
                    found.calls,
                    found.finite,
                )
            )
        return LayerChangeResult(*(torch.cat(each) for each in zip(*parts, strict=True)))

    def _searched(self, image: Tensor, target: Tensor, shape: torch.Size, rms: Tensor) -> SearchResult:
        def start(pair: Tensor) -> Tensor:
            return torch.zeros(len(pair), *shape, device=pair.device)

        def answer(pair: Tensor, change: Tensor) -> Tensor:
            here = image[pair]
            with self.classifier.perturbed(self.layer, added(rms[here], change)):
                logits: Tensor = self.classifier.logits(self.images[here])
            return logits

        def tick(pairs: int) -> None:
            self.answers.tick(EXPECTED_CALLS * pairs)

        goal = SearchGoal(self.origin[image], target, self.options.share)
        size = lane_size(self.answers.size, image.device)
        search = Search(len(image), size, start, answer, goal, tick=tick)
        return adam_search(search, rate=self.options.rate, steps=self.options.steps)

    @torch.no_grad()
    def _scale(self) -> tuple[torch.Size, Tensor]:
        """The shape of what the layer gives of an image, and its root mean square (M,) for each."""
        found = []
        for part in slices(len(self.images), self.answers.size):
            values = activations(self.classifier, self.layer, self.images[part])
            found.append(values.float().flatten(1).square().mean(1).sqrt())
        return values.shape[1:], torch.cat(found).to(self.images.device)


def added(rms: Tensor, change: Tensor) -> LayerChange:
    """What a layer gives of B images plus rms·u, for rms (B,) and u (B, …)."""
    return lambda values: values + (rms.view(-1, *(1,) * (change.ndim - 1)) * change).to(values)


def drawn_targets(seed: int, ids: Tensor, origin: Tensor, slot: Tensor, classes: int) -> Tensor:
    """The class (P,) in a slot of the order that the seed puts an image's other classes in."""
    keys = fold(stream_root(seed, STREAM, ids.device), ids)
    own = torch.arange(classes, device=ids.device) == origin[:, None]
    order = uniform(keys, classes).masked_fill(own, torch.inf).argsort(1)
    return order.gather(1, slot[:, None])[:, 0]
