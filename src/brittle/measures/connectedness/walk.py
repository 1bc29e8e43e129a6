"""Checking paths: the margin at closely spaced points of every straight stretch, and closer still where it is least."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from brittle.measures.connectedness.margin import margin
from brittle.measures.lanes import State, final_states, in_turn, lane_size
from brittle.types import Differentiable

POINTS = 8  # checked of each stretch
CLOSER = 3  # times that the neighbourhood of the least margin is looked at more closely

KEPT = ("least", "at", "low", "high", "outside", "calls")


class ClassRegion(NamedTuple):
    """What tells whether points lie in a class: the classifier, the class of each pair, how many images fit."""

    classifier: Differentiable
    labels: Tensor  # (pairs,)
    batch_size: int
    tick: Callable[[int], None]

    @property
    def size(self) -> int:
        """Pairs that are stepped together: as many as there are, up to what fits, so that few are quickly done."""
        fitting = max(1, lane_size(self.batch_size, self.labels.device) // POINTS)
        return min(1 << (len(self.labels) - 1).bit_length(), fitting)

    def margins(self, points: Tensor, pair: Tensor) -> Tensor:
        """points (B, P, C, H, W) of pairs (B,) → margins (B, P)"""
        count = points.shape[1]
        self.tick(points.shape[0] * count)
        logits = self.classifier.logits(points.flatten(0, 1))
        return margin(logits, self.labels[pair].repeat_interleave(count)).view(-1, count)


class CheckedPaths(NamedTuple):
    """What was found of n paths."""

    least: Tensor  # (n,) margin on the path, up to where it left the class
    at: Tensor  # (n,) stretches walked
    outside: Tensor  # (n,) how far a pixel went beyond [0, 1]
    calls: Tensor  # (n,)

    @property
    def inside(self) -> Tensor:
        """(n,) whether the class was never left."""
        return self.least > 0


def stretch(start: Tensor, end: Tensor, count: int = POINTS) -> Tensor:
    """Evenly spaced points (B, count, C, H, W) after `start` (B, C, H, W), the last of them `end`."""
    shares = torch.arange(1, count + 1, device=start.device) / count
    return torch.lerp(start[:, None], end[:, None], shares.view(-1, 1, 1, 1).to(start.dtype))


def initial_state(start: Tensor, least: Tensor) -> State:
    """What is known of paths that begin at `start` with this margin."""
    nothing = torch.zeros_like(least)
    return {
        "least": least,
        "at": nothing.long(),
        "low": start,
        "high": start,
        "last": torch.ones_like(least, dtype=torch.bool),
        "outside": range_excess(start[:, None]),
        "calls": nothing.long(),
    }


def updated_state(inside: ClassRegion, pair: Tensor, state: State, start: Tensor, end: Tensor) -> State:
    """What the stretch from `start` to `end` adds to what is known of the paths of `pair` (B,)."""
    points = stretch(start, end)
    found = lowest_margin(inside, pair, start, points)
    lower, moved = found.least < state["least"], (start != end).flatten(1).any(1)
    # The least margin may lie beyond the end of a stretch, before the next one's first point.
    following = torch.where(_as(state["last"] & moved, start), points[:, 0], state["high"])
    return {
        "least": torch.minimum(state["least"], found.least),
        "at": state["at"] + 1,
        "low": torch.where(_as(lower, start), found.low, state["low"]),
        "high": torch.where(_as(lower, start), found.high, following),
        "last": torch.where(lower, found.last, state["last"] & ~moved),
        "outside": torch.maximum(state["outside"], range_excess(points)),
        "calls": state["calls"] + POINTS,
    }


class LowestMargin(NamedTuple):
    """The least margin (B,) of some points, the points (B, C, H, W) before and after it, and whether it is the last."""

    least: Tensor
    low: Tensor
    high: Tensor
    last: Tensor


def lowest_margin(inside: ClassRegion, pair: Tensor, start: Tensor, points: Tensor) -> LowestMargin:
    """Among points (B, P, C, H, W) that come after `start`."""
    found, place = inside.margins(points, pair).min(1)
    row = torch.arange(len(pair), device=pair.device)
    around = torch.cat((start[:, None], points, points[:, -1:]), 1)
    return LowestMargin(found, around[row, place], around[row, place + 2], place == points.shape[1] - 1)


def follow_paths(
    inside: ClassRegion, stretches: int, least: Tensor, node: Callable[[Tensor, Tensor], Tensor]
) -> CheckedPaths:
    """Follows n paths of so many stretches until they end or leave the class. `node` gives for pairs (B,) the points
    (B, C, H, W) between their stretches, 0 … `stretches`; `least` (n,) is the margin at the start."""

    def begin(pair: Tensor) -> State:
        return initial_state(node(pair, torch.zeros_like(pair)), least[pair])

    def step(pair: Tensor, state: State) -> tuple[State, Tensor]:
        after = updated_state(inside, pair, state, node(pair, state["at"]), node(pair, state["at"] + 1))
        return after, (after["least"] <= 0) | (after["at"] == stretches)

    found = final_states(len(least), inside.size, begin, in_turn(step), KEPT, least.device)
    return refine_least(inside, found)


def refine_least(inside: ClassRegion, found: State) -> CheckedPaths:
    """The least margin again, among points ever closer around where it is least, of paths that stayed inside."""
    chosen = (found["least"] > 0).nonzero()[:, 0]
    within = inside._replace(labels=inside.labels[chosen])

    def begin(pair: Tensor) -> State:
        low, high = found["low"][chosen[pair]], found["high"][chosen[pair]]
        return initial_state(low, found["least"][chosen[pair]]) | {"low": low, "high": high}

    def step(pair: Tensor, state: State) -> tuple[State, Tensor]:
        closer = lowest_margin(within, pair, state["low"], stretch(state["low"], state["high"]))
        least, at = torch.minimum(state["least"], closer.least), state["at"] + 1
        return {"least": least, "at": at, "low": closer.low, "high": closer.high}, (least <= 0) | (at == CLOSER)

    least, calls = found["least"].clone(), found["calls"].clone()
    if len(chosen):
        closer = final_states(len(chosen), within.size, begin, in_turn(step), ("least", "at"), least.device)
        least[chosen] = closer["least"]
        calls[chosen] += closer["at"] * POINTS
    return CheckedPaths(least, found["at"], found["outside"], calls)


def check_segments(inside: ClassRegion, start: Tensor, end: Tensor, least: Tensor, points: int) -> CheckedPaths:
    """The segments from `start` to `end` (n, C, H, W)."""
    stretches = -(-points // POINTS)

    def node(pair: Tensor, at: Tensor) -> Tensor:
        share = (at / stretches).view(-1, 1, 1, 1).to(start.dtype)
        return torch.lerp(start[pair], end[pair], share)

    return follow_paths(inside, stretches, least, node)


def range_excess(points: Tensor) -> Tensor:
    """points (B, P, C, H, W) → how far the farthest pixel lies beyond [0, 1] (B,)"""
    return torch.maximum(-points, points - 1).flatten(1).amax(1).clamp(min=0)


def _as(flags: Tensor, images: Tensor) -> Tensor:
    return flags.view(-1, *(1,) * (images.ndim - 1))
