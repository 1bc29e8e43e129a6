"""Points and straight marks drawn between the pixels, so that they move smoothly and gradients reach them."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor


def splat(weights: Tensor, x: Tensor, y: Tensor, height: int, width: int) -> Tensor:
    """weights, x, y (B, T), places in pixels → (B, height, width), each weight shared among its four nearest pixels.

    What leaves on one side comes in on the other."""
    with torch.no_grad():  # whole numbers, which floats hold exactly and turn into places several times faster
        left, top = x.floor(), y.floor()
        rows, columns = _both_neighbours(top, height), _both_neighbours(left, width)
        places = [(row * width + column).long() for row in rows for column in columns]
    right_share, lower_share = x - left, y - top
    shares = [down * across for down in (1 - lower_share, lower_share) for across in (1 - right_share, right_share)]
    drawn = weights.new_zeros(len(weights), height * width)
    for place, share in zip(places, shares, strict=True):
        drawn.scatter_add_(1, place, weights * share)
    return drawn.view(-1, height, width)


def _both_neighbours(first: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """A whole place and the next, on a circle of `count`."""
    first = first - (first / count).floor() * count
    second = first + 1
    return first, second.masked_fill_(second >= count, 0)


class Streaks(NamedTuple):
    """N straight marks an image, all (B, N): where they start, how far they go (in pixels) and how light they are."""

    x: Tensor
    y: Tensor
    dx: Tensor
    dy: Tensor
    light: Tensor

    def draw(self, height: int, width: int, longest: float) -> Tensor:
        """(B, height, width): one pixel wide, `light` in the middle and faint at the ends; none is over `longest`."""
        # A point is shared by two pixels each way, so points a pixel and a half apart still make a line.
        points = max(4, math.ceil(longest / 1.5))
        share = (torch.arange(points, dtype=self.x.dtype, device=self.x.device) + 0.5) / points
        apart = torch.hypot(self.dx, self.dy) / points
        marks = (self.light * apart)[..., None] * (4 * share * (1 - share))
        x, y = (start[..., None] + go[..., None] * share for start, go in ((self.x, self.dx), (self.y, self.dy)))
        return splat(marks.flatten(1), x.flatten(1), y.flatten(1), height, width)
