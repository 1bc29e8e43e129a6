"""Pixelation (ImageNet-C's pixelate): a coarse grid of cells, each in its mean colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.nuisances import register
from brittle.nuisances.base.corruption import Corruption
from brittle.nuisances.base.levels import at_level, strengths
from brittle.nuisances.ops.pieces import on_host
from brittle.nuisances.ops.separable import filter_rows_and_columns

SHARE = (1.0, 0.6, 0.5, 0.4, 0.3, 0.25)

Places = NDArray[np.int64]


def cells_of_pixels(cells: Tensor, count: int) -> Tensor:
    """cells (B,), whole numbers → (B, count): the cell that each pixel of a side is in.

    A pixel belongs to the cell that contains its centre, as with a box filter followed by nearest-neighbour
    enlargement; a centre on a border belongs to the next cell."""
    centres = (2 * torch.arange(count, dtype=torch.float64, device=cells.device) + 1) / (2 * count)
    return (centres * cells.double()[:, None] + 1e-9).floor()


def cell_matrix(cells: Tensor, count: int) -> Tensor:
    """cells (B,), whole numbers → (B, count, count): every pixel becomes the mean of its cell."""
    cell = cells_of_pixels(cells, count)
    together = (cell[:, :, None] == cell[:, None, :]).double()
    return together / together.sum(-1, keepdim=True)


class PixelGrid(NamedTuple):
    """The cells of one side, in numpy's terms. Large cells come first, so that those with a pixel more are a slice."""

    cell: Places  # (count,) of each pixel
    sizes: NDArray[np.float32]  # (cells, 1) how many pixels
    pixels: Sequence[Places]  # the first of every cell, the second of those that have one, the third …


@lru_cache(maxsize=2048)
def grid(cells: int, count: int) -> PixelGrid:
    cell = cells_of_pixels(torch.tensor([cells]), count)[0].long().numpy()
    sizes, first = np.bincount(cell, minlength=cells), np.searchsorted(cell, np.arange(cells))
    order = np.argsort(-sizes, kind="stable")
    pixels = [first[order[sizes[order] > beyond]] + beyond for beyond in range(sizes.max())]
    return PixelGrid(np.argsort(order)[cell], sizes[order].astype(np.float32)[:, None], pixels)


def means(values: NDArray[np.floating], side: PixelGrid) -> NDArray[np.floating]:
    """values (N, count, M) → (N, cells, M): whole rows are added, which costs little more than reading them."""
    total = _taken(values, side.pixels[0], 1)
    for pixels in side.pixels[1:]:
        total[:, : len(pixels)] += _taken(values, pixels, 1)
    total /= side.sizes
    return total


def _taken(values: NDArray[np.floating], places: Places, axis: int) -> NDArray[np.floating]:
    return values.take(places, axis, mode="clip")  # which spares checking that the places exist


def pixelate(
    images: NDArray[np.floating], down: Sequence[int], across: Sequence[int], out: NDArray[np.floating]
) -> None:
    """images (B, C, H, W) and how many cells each has down and across → out, in [0, 1]: what matrices do, without their
    zeros."""
    height, width = images.shape[-2:]
    alike: dict[tuple[int, int], list[int]] = {}
    for place, cells in enumerate(zip(down, across, strict=True)):
        alike.setdefault(cells, []).append(place)
    for (rows, columns), places in alike.items():
        vertical, horizontal = grid(rows, height), grid(columns, width)
        low = means(images[places].reshape(-1, height, width), vertical)
        small = means(np.ascontiguousarray(low.swapaxes(1, 2)), horizontal)
        wide = _taken(small.clip(0, 1).swapaxes(1, 2), horizontal.cell, 2)
        if len(alike) == 1:
            wide.take(vertical.cell, 1, out=out.reshape(-1, height, width), mode="clip")
        else:
            out[places] = _taken(wide, vertical.cell, 1).reshape(-1, *images.shape[1:])


@register("pixelate")
@dataclass(frozen=True)
class Pixelate(Corruption):
    """Pixelation. Prior: level = level·exp(spread·z), z ~ N(0, 1).

    The image is shrunk to 60, 50, 40, 30 and 25 % of its sides at levels 1 to 5 (ImageNet-C) by a box filter and
    enlarged again without smoothing. Levels in between change the grid one cell at a time, so no gradient flows to the
    level. Severity multiplies the level."""

    differentiable: ClassVar = False
    piece: ClassVar = 150_000

    def prepare(self, images: Tensor, level: Tensor, rest: Tensor) -> tuple[Tensor, Tensor]:
        """How many cells (B,) each image has down, and across."""
        share = strengths(level, SHARE)[0]
        # ImageNet-C rounds down. Near level 0 that would remove a cell at once, so there it becomes rounding up.
        up = (1 - level).clamp(0.0, 0.999) + 1e-4
        down, across = ((share * side + up).floor().clamp(1, side) for side in images.shape[-2:])
        return down.long(), across.long()

    def corrupt(self, images: Tensor, level: Tensor, rest: Tensor) -> Tensor:
        sides = zip((level, rest), images.shape[-2:], strict=True)
        return filter_rows_and_columns(images, *(cell_matrix(cells, side).to(images.dtype) for cells, side in sides))

    def corrupt_into(self, place: Tensor, images: Tensor, level: Tensor, rest: Tensor) -> None:
        if on_host(images):
            pixelate(images.numpy(), level.tolist(), rest.tolist(), place.numpy())
        else:
            super().corrupt_into(place, images, level, rest)

    def picture(self, height: int, width: int) -> str:
        share = max(at_level(SHARE, self.level), 0.0)
        return f"cells of {1 / max(share, 1 / min(height, width)):.2g} pixels"
