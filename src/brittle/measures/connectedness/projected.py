"""A batched projected method for curved paths: Heun steps along v − λg, each brought back to its level.

With m the log-odds of the class, c(t) from m(x₀) to m(x₁), v = (x₁ − x)/(1 − t) and g = ∇m, a path solves
x' = v − λg with λ such that m(x(t)) = c(t). In s = −ln(1 − t) it is not singular at x₁:
dx/ds = (x₁ − x) − λg with λ = (g·(x₁ − x) − dc/ds) / ‖g‖². Steps shrink where their error or their distance from the
level is too large, pair by pair.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.measures.connectedness.margin import LogOddsGradient, level
from brittle.measures.connectedness.walk import (
    KEPT,
    CheckedPaths,
    ClassRegion,
    check_segments,
    initial_state,
    refine_least,
    updated_state,
)
from brittle.measures.lanes import State, final_states, in_turn

ERROR = 1e-3  # of a step, as a share of the distance between the two images
OFF_LEVEL = 1e-3  # of the log-odds, and of 1 where these are smaller
SMALLEST = 2.0**-10  # step, as a share of the largest: smaller ones mean that there is no way on
ATTEMPTS = 4  # steps tried for each step planned
STEEP = 1e-20  # ‖g‖² below this is flat
GRADIENTS = 3  # per step, of one image each
FRAMES = 9  # images that are kept of a path


class PathEnds(NamedTuple):
    """Pairs of images (n, C, H, W), and what is known of them."""

    start: Tensor
    end: Tensor
    m_start: Tensor  # (n,) log-odds
    m_end: Tensor
    margin: Tensor  # (n,) at the start

    def take(self, rows: Tensor) -> PathEnds:
        return PathEnds(*(each[rows] for each in self))

    def target(self, rows: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        """c (R,) at s (R,), and dc/ds."""
        left, rise = torch.exp(-s), self.m_end[rows] - self.m_start[rows]
        return self.m_start[rows] + (1 - left) * rise, left * rise


class CurvedPaths(NamedTuple):
    """What was found of n curved paths."""

    checked: CheckedPaths
    arrived: Tensor  # (n,) whether the solver came to its end
    steps: Tensor  # (n,)
    frames: Tensor  # (n, F, C, H, W), evenly spaced in t from the first image to the second; F = 0 if not asked for


def projected(
    inside: ClassRegion, ends: PathEnds, until: float, steps: int, points: int, frames: bool = False
) -> CurvedPaths:
    """Paths from the first to the second image of each pair."""
    stop = -math.log1p(-until)
    largest = stop / steps
    scale = (ends.end - ends.start).flatten(1).norm(dim=1)
    shares = torch.linspace(0, 1, FRAMES, device=scale.device)[1:-1]

    def levels(pair: Tensor, images: Tensor) -> LogOddsGradient:
        inside.tick(len(pair))
        return level(inside.classifier, images, inside.labels[pair])

    def direction(pair: Tensor, x: Tensor, g: Tensor, s: Tensor) -> Tensor:
        ahead = ends.end[pair] - x
        factor = (_dot(g, ahead) - ends.target(pair, s)[1]) / _dot(g, g).clamp(min=STEEP)
        return ahead - _as_images(factor) * g

    def begin(pair: Tensor) -> State:
        x = ends.start[pair]
        now = torch.zeros(len(pair), device=x.device)
        state = initial_state(x, ends.margin[pair]) | {"x": x, "g": levels(pair, x).g, "s": now, "h": now + largest}
        if frames:
            state["frames"] = x[:, None].repeat(1, len(shares), 1, 1, 1)
        return state | {"tried": now.long(), "steps": now.long()}

    def step(pair: Tensor, state: State) -> tuple[State, Tensor]:
        x, s = state["x"], state["s"]
        h = torch.minimum(state["h"], stop - s)
        first = direction(pair, x, state["g"], s)
        there = x + _as_images(h) * first
        second = direction(pair, there, levels(pair, there).g, s + h)
        change = _as_images(h / 2) * (second - first)
        c = ends.target(pair, s + h)[0]
        there, (m, g) = there + change, levels(pair, there + change)
        there = there - _as_images((m - c) / _dot(g, g).clamp(min=STEEP)) * g
        m, g = levels(pair, there)
        error = change.flatten(1).norm(dim=1) / (ERROR * scale[pair])
        off = (m - c).abs() / (OFF_LEVEL * c.abs().clamp(min=1))
        worst = torch.maximum(error, off)
        taken = worst <= 1  # NaN is not
        growth = (0.9 * worst.rsqrt()).nan_to_num(0.0).clamp(0.25, 2.0)
        there = torch.where(_as_images(taken), there, x)
        after = updated_state(inside, pair, state, x, there)
        later = torch.where(taken, s + h, s)
        after |= {
            "x": there,
            "g": torch.where(_as_images(taken), g, state["g"]),
            "s": later,
            "h": (h * growth).clamp(max=largest),
            "tried": state["tried"] + 1,
            "steps": state["steps"] + taken.long(),
            "calls": after["calls"] + GRADIENTS,
        }
        if frames:
            after["frames"] = _framed(state["frames"], shares, s, later, x, there)
        lost = (after["h"] < SMALLEST * largest) | (after["tried"] == ATTEMPTS * steps)
        # The last step's length is what was left, so that s does not stop just short of the end.
        arrived = taken & (h >= stop - s)
        after["s"] = torch.where(arrived, torch.full_like(s, stop), later)
        return after | {"arrived": arrived}, arrived | lost | (after["least"] <= 0)

    kept = (*KEPT, "x", "arrived", "steps", *(["frames"] if frames else []))
    found = final_states(len(scale), inside.size, begin, in_turn(step), kept, scale.device)
    closed = close_paths(inside, refine_least(inside, found), found["x"], ends.end, found["arrived"], points)
    shown = (ends.start[:, None], found["frames"], ends.end[:, None]) if frames else (ends.start[:, None][:, :0],)
    return CurvedPaths(closed, found["arrived"], found["steps"], torch.cat(shown, 1))


def close_paths(
    inside: ClassRegion, found: CheckedPaths, last: Tensor, end: Tensor, arrived: Tensor, points: int
) -> CheckedPaths:
    """What was found of paths up to `last` (n, C, H, W), with the straight segments that lead from there to their
    ends, where the solver arrived and the class was not left."""
    chosen = (arrived & found.inside).nonzero()[:, 0]
    if not len(chosen):
        return found
    within = inside._replace(labels=inside.labels[chosen])
    rest = check_segments(within, last[chosen], end[chosen], found.least[chosen], points)
    least, calls = found.least.clone(), found.calls.clone()
    least[chosen] = rest.least
    calls[chosen] += rest.calls
    return found._replace(least=least, calls=calls)


def _framed(frames: Tensor, shares: Tensor, s: Tensor, later: Tensor, x: Tensor, there: Tensor) -> Tensor:
    """Frames (B, F, C, H, W) with those filled in whose t lies on the stretch from x to `there`; those still ahead hold
    the latest point."""
    t, to = (-torch.expm1(-s))[:, None], (-torch.expm1(-later))[:, None]
    share = ((shares - t) / (to - t).clamp(min=1e-12)).clamp(0, 1)
    on = torch.lerp(x[:, None], there[:, None], share.view(*share.shape, 1, 1, 1))
    return torch.where((shares > t).view(*share.shape, 1, 1, 1), on, frames)


def frames_at(nodes: Tensor, times: NDArray[np.float64], end: Tensor, shown: bool) -> Tensor:
    """Frames (n, F, C, H, W) of paths (n, T, C, H, W) that are known at `times` (T,), the last of them `end`."""
    if not shown:
        return nodes[:, :0]
    wanted = np.linspace(0, 1, FRAMES)[:-1]
    before = np.searchsorted(times, wanted, side="right").clip(1, len(times) - 1) - 1
    share = ((wanted - times[before]) / (times[before + 1] - times[before])).clip(0, 1)
    place, weight = torch.from_numpy(before).to(nodes.device), torch.from_numpy(share).to(nodes)
    frames = torch.lerp(nodes[:, place], nodes[:, place + 1], weight.view(-1, 1, 1, 1))
    return torch.cat((frames, end[:, None]), 1)


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).flatten(1).sum(1)


def _as_images(values: Tensor) -> Tensor:
    return values.view(-1, 1, 1, 1)
