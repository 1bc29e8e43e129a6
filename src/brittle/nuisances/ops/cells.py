"""A grid of cells laid over an image."""

from __future__ import annotations

import torch
from torch import Tensor

from brittle.errors import BrittleError


def cells(side: int, grid: int, device: torch.device) -> Tensor:
    """(side,): which of `grid` cells, equal to within a pixel, each pixel is in; cell j begins at ⌊j·side/grid⌋."""
    return (torch.arange(side, device=device) * grid + grid - 1) // side


def fits(grid: int, shape: tuple[int, int, int]) -> None:
    """Raises if there would be more cells than pixels."""
    _, height, width = shape
    if grid > min(height, width):
        raise BrittleError(
            f"a grid of {grid}×{grid} does not fit on images of {height}×{width} pixels",
            f"Use grid={min(height, width)} or less.",
        )
