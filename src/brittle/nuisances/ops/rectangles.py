"""Rectangles of whole pixels: which pixels they cover, how many, and exact draws with p ∝ exp(−pixels / s).

A rectangle is (left, top, right, bottom): it covers the columns left ≤ x < right and the rows top ≤ y < bottom.

Drawing b rectangles with p ∝ exp(−|union| / s): order all rectangles of the image by area, so that a uniform number
in (0, 1) gives a uniformly drawn rectangle and a larger number a rectangle at least as large. Since |union| ≥ the
largest area, exp(−largest / s) bounds the wanted weight from above, and it can be drawn from exactly: the largest of b
such numbers falls among the rectangles of one size with probability ∝ exp(−area / s)·(C_k^b − C_{k−1}^b), where C_k is
the share of rectangles up to that size; given its value V the others are uniform on (0, V). The proposal is then
accepted with probability exp(−(|union| − largest) / s). Small rectangles, which hardly overlap, are accepted about once
in b! times; proposing each with weight exp(−area / (b s)) and bounding |union| by their mean area would give b^b.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from brittle.device import inspectable
from brittle.random import fold, stream_root, uniform

_TRIALS = 2**14  # proposals from which the acceptance rate is estimated, once per prior
_AT_ONCE = 2**20  # proposals in memory at a time
_MISSED = 1e-12  # how often a draw may end without an accepted proposal


def covered(low: Tensor, high: Tensor, count: int) -> Tensor:
    """low, high (...) → bool (..., count): which of the places 0, 1, … lie in low ≤ place < high."""
    places = torch.arange(count, dtype=low.dtype, device=low.device)
    return (places >= low[..., None]) & (places < high[..., None])


def rectangles_mask(corners: Tensor, height: int, width: int) -> Tensor:
    """corners (B, b, 4) → bool (B, 1, H, W): the pixels in any of the rectangles."""
    columns = covered(corners[..., 0], corners[..., 2], width)[:, :, None, :]
    rows = covered(corners[..., 1], corners[..., 3], height)[:, :, :, None]
    mask = rows[:, :1] & columns[:, :1]
    for place in range(1, corners.shape[1]):
        mask |= rows[:, place : place + 1] & columns[:, place : place + 1]
    return mask


def union_area(corners: Tensor) -> Tensor:
    """corners (..., b, 4) → number of pixels (...) in any of the rectangles, each counted once."""
    if corners.shape[-2] == 1:
        return ((corners[..., 2] - corners[..., 0]) * (corners[..., 3] - corners[..., 1])).squeeze(-1)
    # The rectangles' edges cut the plane into cells, each of which is covered entirely or not at all.
    x = corners[..., 0::2].flatten(-2).sort(-1).values
    y = corners[..., 1::2].flatten(-2).sort(-1).values
    in_x = (corners[..., :1] <= x[..., None, :-1]) & (x[..., None, :-1] < corners[..., 2:3])
    in_y = (corners[..., 1:2] <= y[..., None, :-1]) & (y[..., None, :-1] < corners[..., 3:])
    cells = in_x[..., 0, None, :] & in_y[..., 0, :, None]
    for place in range(1, corners.shape[-2]):
        cells |= in_x[..., place, None, :] & in_y[..., place, :, None]
    return ((cells * x.diff(dim=-1)[..., None, :]).sum(-1) * y.diff(dim=-1)).sum(-1)


class SizeTable(NamedTuple):
    """Every size of rectangle in an image, by area, and the distribution of the largest of b (float64)."""

    width: Tensor  # (H·W,)
    height: Tensor
    area: Tensor
    share: Tensor  # C_k: the share of rectangles that are at most as large
    below: Tensor  # C_{k−1}
    law: Tensor  # cumulative probabilities of the largest size
    log_total: float  # log Σ exp(−largest / s) over all b-tuples of rectangles


@lru_cache(maxsize=32)
def sizes(height: int, width: int, scale: float, rectangles: int, device: torch.device) -> SizeTable:
    """The tables for b = `rectangles` with weight exp(−largest / scale)."""
    with torch.inference_mode(False):  # cached for later calls
        across = torch.arange(1, width + 1, dtype=torch.float64).repeat(height)
        down = torch.arange(1, height + 1, dtype=torch.float64).repeat_interleave(width)
        area, order = (across * down).sort(stable=True)
        across, down = across[order], down[order]
        share = ((width - across + 1) * (height - down + 1)).cumsum(0)
        count = float(share[-1])
        share /= count
        below = torch.cat((share.new_zeros(1), share[:-1]))
        # At least one pixel is hidden: measured from there, weights don't vanish for a small scale.
        law = (torch.exp(-(area - 1) / scale) * (share**rectangles - below**rectangles)).cumsum(0)
        log_total = math.log(float(law[-1])) + rectangles * math.log(count) - 1 / scale
        law /= law[-1].clone()
        return SizeTable(
            across.to(device),
            down.to(device),
            area.to(device),
            share.to(device),
            below.to(device),
            law.to(device),
            log_total,
        )


def propose(keys: Tensor, height: int, width: int, scale: float, rectangles: int) -> tuple[Tensor, Tensor, Tensor]:
    """keys (...) → corners (..., b, 4), their acceptance probability (...), and a uniform number (...) to decide it."""
    table = sizes(height, width, scale, rectangles, keys.device)
    numbers = uniform(keys, 3 * rectangles + 4 if rectangles > 1 else 3)
    largest = torch.searchsorted(table.law, numbers[..., 0].contiguous())
    size = largest[..., None]
    if rectangles > 1:
        low, high = table.below[largest] ** rectangles, table.share[largest] ** rectangles
        top = (low + numbers[..., -1] * (high - low)) ** (1 / rectangles)
        others = torch.searchsorted(table.share, top[..., None] * numbers[..., 2 * rectangles + 1 : -3])
        which = (numbers[..., -2] * rectangles).long()
        size = torch.where(torch.arange(rectangles, device=keys.device) == which[..., None], size, others)
    across, down = table.width[size], table.height[size]
    left = (numbers[..., 1 : rectangles + 1] * (width - across + 1)).floor()
    above = (numbers[..., rectangles + 1 : 2 * rectangles + 1] * (height - down + 1)).floor()
    corners = torch.stack((left, above, left + across, above + down), -1)
    if rectangles == 1:
        return corners, torch.ones_like(numbers[..., 0]), numbers[..., 0]
    return corners, torch.exp((table.area[largest] - union_area(corners)) / scale), numbers[..., -3]


class UnionPrior(NamedTuple):
    """Global properties of p ∝ exp(−|union| / s)."""

    acceptance: float  # of a proposal
    mean: float  # pixels hidden on average
    log_total: float  # log Σ exp(−|union| / s) over all b-tuples of rectangles


@lru_cache(maxsize=32)
def prior(height: int, width: int, scale: float, rectangles: int) -> UnionPrior:
    """Exact for one rectangle; for several, a mean over a fixed set of proposals."""
    table = sizes(height, width, scale, rectangles, torch.device("cpu"))
    if rectangles == 1:
        return UnionPrior(1.0, float(table.law.diff(prepend=table.law.new_zeros(1)) @ table.area), table.log_total)
    keys = fold(stream_root(0, "rectangles"), torch.arange(_TRIALS))
    corners, weight, _ = propose(keys, height, width, scale, rectangles)
    acceptance = float(weight.mean())
    mean = float((weight * union_area(corners)).mean()) / max(acceptance, 1e-300)
    return UnionPrior(acceptance, mean, table.log_total + math.log(max(acceptance, 1e-300)))


def draw(keys: Tensor, height: int, width: int, scale: float, rectangles: int) -> Tensor:
    """keys (...) → corners (..., b, 4), float64: exact and independent draws.

    Proposals are numbered, and the first accepted one is the draw, so it does not matter how many are tried at a time.
    The number of tries is limited: once in 10¹² draws none is accepted, and a rejected proposal is returned. Where
    checking for the end would make the device wait, all of them are always tried.
    """
    if rectangles == 1:
        return propose(keys, height, width, scale, rectangles)[0]
    acceptance = 0.8 * prior(height, width, scale, rectangles).acceptance
    on_host = inspectable(keys)
    flat = keys.flatten()
    most = math.ceil(math.log(_MISSED) / math.log1p(-acceptance))
    at_once = min(math.ceil(1 / acceptance) if on_host else most, max(1, _AT_ONCE // max(1, len(flat))))
    chosen = torch.zeros(len(flat), rectangles, 4, dtype=torch.float64, device=keys.device)
    found = torch.zeros(len(flat), dtype=torch.bool, device=keys.device)
    rows: slice | Tensor = slice(None)
    for turn in range(math.ceil(most / at_once)):
        numbered = turn * at_once + torch.arange(at_once, device=keys.device)
        corners, weight, number = propose(fold(flat[rows, None], numbered), height, width, scale, rectangles)
        accepted = number < weight
        first = accepted.to(torch.uint8).argmax(1)[:, None, None, None].expand(-1, 1, rectangles, 4)
        chosen[rows] = torch.where(found[rows, None, None], chosen[rows], corners.gather(1, first).squeeze(1))
        found[rows] |= accepted.any(1)
        if on_host:
            rows = found.logical_not().nonzero().squeeze(1)
            if len(rows) == 0:
                break
    return chosen.view(*keys.shape, rectangles, 4)
