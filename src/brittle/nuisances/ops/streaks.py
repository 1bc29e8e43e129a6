"""Points and straight streaks drawn at sub-pixel positions, so that they move smoothly and gradients reach them."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from brittle.device import inspectable


class Margins(NamedTuple):
    """How many pixels beyond each side of an image points may lie."""

    left: int
    right: int
    top: int
    bottom: int


def margins_for(x: Tensor, y: Tensor, height: int, width: int, reach: int) -> Margins:
    """Margins for points x and y, none further outside than `reach`. On a device, where inspecting them would mean
    waiting, there is always room for `reach`."""
    if not inspectable(x):
        return Margins(reach, reach, reach, reach)
    left, right = _outside(x, width)
    return Margins(left, right, *_outside(y, height))


def _outside(places: Tensor, size: int) -> tuple[int, int]:
    low, high = places.detach().aminmax()
    return max(-math.floor(low), 0), max(math.floor(high) + 1 - size, 0)


def splat(weights: Tensor, x: Tensor, y: Tensor, height: int, width: int, margins: Margins) -> Tensor:
    """weights, x, y (B, T), in pixels → (B, height, width), each weight divided among its four nearest pixels.

    What leaves on one side enters on the other."""
    # With the margins included, a point's four pixels are at one place plus four constants. Wrapping each of them
    # separately would take longer than everything else.
    tall, wide = margins.top + height + margins.bottom + 1, margins.left + width + margins.right + 1
    with torch.no_grad():  # whole numbers: exact as floats, which convert to indices several times faster
        first_column, first_row = x.floor(), y.floor()
        places = torch.add(first_column, first_row, alpha=wide).add_(margins.top * wide + margins.left).long()
    right = weights * (x - first_column)
    left = weights - right
    lower_share = y - first_row
    lower_right, lower_left = right * lower_share, left * lower_share
    drawn = weights.new_zeros(len(weights), tall * wide)
    corners = ((0, left - lower_left), (1, right - lower_right), (wide, lower_left), (wide + 1, lower_right))
    for beyond, shared in corners:
        drawn[:, beyond:].scatter_add_(1, places, shared)
    drawn = drawn.view(-1, tall, wide)
    return _wrapped(_wrapped(drawn, 1, margins.top, height), 2, margins.left, width)


def _wrapped(drawn: Tensor, dim: int, before: int, size: int) -> Tensor:
    """The `size` pixels from `before` on, plus what lies a multiple of `size` before and after them."""
    inside = drawn.narrow(dim, before, size)
    for start in range(before % size - size, drawn.shape[dim], size):
        low, high = max(start, 0), min(start + size, drawn.shape[dim])
        if start != before and low < high:
            inside.narrow(dim, low - start, high - low).add_(drawn.narrow(dim, low, high - low))
    return inside


class Streaks(NamedTuple):
    """N straight streaks per image, all (B, N): where they start, how far they go (in pixels), how bright they are."""

    x: Tensor
    y: Tensor
    dx: Tensor
    dy: Tensor
    light: Tensor

    def draw(self, height: int, width: int, longest: float) -> Tensor:
        """(B, height, width): one pixel wide, `light` in the middle, faint at the ends; none longer than `longest`."""
        # A point is spread over two pixels each way, so points a pixel and a half apart still form a line.
        points = max(4, math.ceil(longest / 1.5))
        share = (torch.arange(points, dtype=self.x.dtype, device=self.x.device) + 0.5) / points
        apart = torch.hypot(self.dx, self.dy) / points
        marks = (self.light * apart)[..., None] * (4 * share * (1 - share))
        x, y = self.x.remainder(width), self.y.remainder(height)
        ends = torch.stack((x, x + self.dx)), torch.stack((y, y + self.dy))
        margins = margins_for(ends[0], ends[1], height, width, math.ceil(longest))
        x, y = (
            torch.addcmul(start[..., None], go[..., None], share).flatten(1)
            for start, go in ((x, self.dx), (y, self.dy))
        )
        return splat(marks.flatten(1), x, y, height, width, margins)
