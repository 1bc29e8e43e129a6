"""The targeted attack on layers (UREM, figure 2): the change δ of what they give at which p(target) reaches a share.

The search is that for images, on what a layer gives: a ↦ a + δ. It works in units of the layer's root mean square for
the image at hand, δ = rms(a)·u, so that one step size serves layers of every scale. Nothing is clipped. Of a set of
layers each is changed in units of its own, and one search moves them all. The weights w ↦ w + rms(w)·u are changed for
each pair of an image and a target by itself: every pair has a network of its own.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from brittle.classifiers.layers import WEIGHTS
from brittle.measures.answers import Answers
from brittle.measures.lanes import lane_size, lanes_on
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
    rms: Tensor  # (n,) of what the layers give of the untouched image
    relative: Tensor  # (n,) root mean square of u: of δ over that of what the layer gives
    log_p: Tensor  # (n,) of the target
    calls: Tensor  # (n,)
    finite: Tensor  # (n,) bool


class LayerScale(NamedTuple):
    """What one layer gives of an image: how many numbers, and their root mean square."""

    size: int
    rms: Tensor  # (M,)


@dataclass(frozen=True)
class LayerSearch:
    """The search on layers, all at once, for the images (M, C, H, W) that a classifier is asked about."""

    options: LayerChangesOptions
    answers: Answers
    classifier: Any  # Layered and Differentiable
    layers: tuple[str, ...]
    origin: Tensor  # (M,) clean predictions
    seed: int

    @property
    def images(self) -> Tensor:
        return self.answers.batch.images

    def changes(self, image: Tensor, slot: Tensor) -> LayerChangeResult:
        """The change of each pair: an image (P,) and which of its targets (P,)."""
        ids, classes = self.answers.batch.ids[image], len(self.classifier.labels)
        target = drawn_targets(self.seed, ids, self.origin[image], slot, classes)
        scales = [self._scale(layer) for layer in self.layers]
        count = sum(scale.size for scale in scales)
        parts = []
        for part in slices(len(image), max(1, HELD // count)):
            found = self._searched(image[part], target[part], scales)
            linf, l2, rms = self._sizes(found, [scale.rms[image[part]] for scale in scales], scales)
            relative = found.l2 / math.sqrt(count)
            parts.append(
                LayerChangeResult(
                    target[part], found.reached, linf, l2, rms, relative, found.log_p, found.calls, found.finite
                )
            )
        return LayerChangeResult(*(torch.cat(each) for each in zip(*parts, strict=True)))

    def _sizes(
        self, found: SearchResult, units: list[Tensor], scales: list[LayerScale]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """L∞ and L2 (n,) of δ, and the root mean square of all that the layers give, from the units (n,) of each."""
        if len(scales) == 1:
            return units[0] * found.linf, units[0] * found.l2, units[0]
        counts = [scale.size for scale in scales]
        moved = [
            unit[:, None] * part
            for unit, part in zip(units, torch.split(found.values.flatten(1), counts, 1), strict=True)
        ]
        square = torch.stack([count * unit.square() for count, unit in zip(counts, units, strict=True)]).sum(0)
        linf = torch.stack([each.abs().amax(1) for each in moved]).amax(0)
        l2 = torch.stack([each.norm(dim=1) for each in moved]).norm(dim=0)
        return linf, l2, (square / sum(counts)).sqrt()

    def _searched(self, image: Tensor, target: Tensor, scales: list[LayerScale]) -> SearchResult:
        counts = [scale.size for scale in scales]

        def start(pair: Tensor) -> Tensor:
            return torch.zeros(len(pair), sum(counts), device=pair.device)

        def logits(here: Tensor, change: Tensor) -> Tensor:
            with ExitStack() as changes:
                for layer, scale, part in zip(self.layers, scales, torch.split(change, counts, 1), strict=True):
                    changes.enter_context(self.classifier.perturbed(layer, added(scale.rms[here], part)))
                found: Tensor = self.classifier.logits(self.images[here])
            return found

        def answer(pair: Tensor, change: Tensor) -> Tensor:
            here = image[pair]
            if WEIGHTS not in self.layers:
                return logits(here, change)
            return torch.cat([logits(*each) for each in zip(torch.split(here, 1), torch.split(change, 1), strict=True)])

        def tick(pairs: int) -> None:
            self.answers.tick(EXPECTED_CALLS * pairs)

        goal = SearchGoal(self.origin[image], target, self.options.share)
        size = lane_size(self.answers.size, image.device)
        if WEIGHTS in self.layers:  # asked one by one, so that nothing depends on how many there are at once
            size = min(size, max(1, HELD // (lanes_on(image.device) * sum(counts))))
        search = Search(len(image), size, start, answer, goal, tick=tick)
        return adam_search(search, rate=self.options.rate, steps=self.options.steps)

    @torch.no_grad()
    def _scale(self, layer: str) -> LayerScale:
        found = []
        for part in slices(len(self.images), self.answers.size):
            some = self.images[part] if layer != WEIGHTS else self.images[:1]
            values = activations(self.classifier, layer, some)
            rms = values.float().flatten(1).square().mean(1).sqrt()
            found.append(rms.expand(part.stop - part.start))
        return LayerScale(math.prod(values.shape[1:]), torch.cat(found).to(self.images.device))


def added(rms: Tensor, change: Tensor) -> LayerChange:
    """What a layer gives of B images plus rms·u, for rms (B,) and u (B, n)."""
    return lambda values: values + (rms[:, None] * change).view(values.shape).to(values)


def drawn_targets(seed: int, ids: Tensor, origin: Tensor, slot: Tensor, classes: int) -> Tensor:
    """The class (P,) in a slot of the order that the seed puts an image's other classes in."""
    keys = fold(stream_root(seed, STREAM, ids.device), ids)
    own = torch.arange(classes, device=ids.device) == origin[:, None]
    order = uniform(keys, classes).masked_fill(own, torch.inf).argsort(1)
    return order.gather(1, slot[:, None])[:, 0]
