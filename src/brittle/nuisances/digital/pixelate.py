"""Pixelation (ImageNet-C's pixelate): a coarse grid of cells, each in its mean colour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from brittle.nuisances import register
from brittle.nuisances.base.corruption import Corruption
from brittle.nuisances.base.levels import at_level, strengths
from brittle.nuisances.ops.separable import filter_rows_and_columns

SHARE = (1.0, 0.6, 0.5, 0.4, 0.3, 0.25)


def cell_matrix(cells: Tensor, count: int) -> Tensor:
    """cells (B,), whole numbers → (B, count, count): every pixel becomes the mean of its cell.

    A pixel belongs to the cell that contains its centre, as with a box filter followed by nearest-neighbour
    enlargement; a centre on a border belongs to the next cell."""
    centres = (2 * torch.arange(count, dtype=torch.float64, device=cells.device) + 1) / (2 * count)
    cell = (centres * cells.double()[:, None] + 1e-9).floor()
    together = (cell[:, :, None] == cell[:, None, :]).to(cells.dtype)
    return together / together.sum(-1, keepdim=True)


@register("pixelate")
@dataclass(frozen=True)
class Pixelate(Corruption):
    """Pixelation. Prior: level = level·exp(spread·z), z ~ N(0, 1).

    The image is shrunk to 60, 50, 40, 30 and 25 % of its sides at levels 1 to 5 (ImageNet-C) by a box filter and
    enlarged again without smoothing. Levels in between change the grid one cell at a time, so no gradient flows to the
    level. Severity multiplies the level."""

    differentiable: ClassVar = False

    def corrupt(self, images: Tensor, level: Tensor, rest: Tensor) -> Tensor:
        height, width = images.shape[-2:]
        share = strengths(level, SHARE)[0]
        # ImageNet-C rounds down. Near level 0 that would remove a cell at once, so there it becomes rounding up.
        up = (1 - level).clamp(0, 0.999) + 1e-4
        across, down = (cell_matrix((share * side + up).floor().clamp(1, side), side) for side in (width, height))
        return filter_rows_and_columns(images, down, across)

    def picture(self, height: int, width: int) -> str:
        share = max(at_level(SHARE, self.level), 0.0)
        return f"cells of {1 / max(share, 1 / min(height, width)):.2g} pixels"
