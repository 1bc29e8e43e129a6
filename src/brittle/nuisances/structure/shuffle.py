"""Patches of the image swap places (Marcu & Prügel-Bennett 2022, section 2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

import torch
from torch import Tensor

from brittle.nuisances import register
from brittle.nuisances.ops.broadcast import as_factor
from brittle.nuisances.ops.cells import cells, fits
from brittle.random import uniform
from brittle.registry import option
from brittle.types import Batch


@register("shuffle")
@dataclass(frozen=True)
class Shuffle:
    """The patches of a grid swap places: local texture stays, global shape is lost. Prior: which patches move is a
    uniformly drawn set of the given share; how they move is a uniformly drawn cycle, so that each of them moves. With
    moves=permutation it is a uniformly drawn permutation of them, as in the paper: on average one patch stays in place,
    and in one of 24 draws on a grid of 2 all four do.

    θ is the share of patches moved and one number in [0, 1] for each patch, row by row. In the order of these numbers,
    each patch that moves goes to the place of the previous one (cycle), or to the first, second, … of their places, row
    by row (permutation). Severity s moves s times the share, rounded to whole patches; a single patch can't move, and
    once all have moved nothing changes any more. If the grid does not divide a side, patches differ by one pixel: a
    patch that moves to a larger place brings along the next row or column, and one that moves to a smaller place loses
    its last. The paper uses grids of 2, 4 and 8. There is no density: log_prior is None."""

    grid: int = option(4, "how many patches there are across and down", least=2, most=64, shown="{0}×{0}")
    share: float = option(1.0, "the share of patches that move", above=0, most=1)
    moves: Literal["cycle", "permutation"] = option(
        "cycle", "how they move: in one cycle, so that none stays, or by any permutation, the identity included"
    )

    needs: ClassVar[frozenset[str]] = frozenset()
    differentiable: ClassVar[bool] = False
    traceable: ClassVar[bool] = True

    @property
    def parameters(self) -> Sequence[str]:
        return ("share moved", *(f"patch {row}, {column}" for row in range(self.grid) for column in range(self.grid)))

    def check(self, shape: tuple[int, int, int]) -> None:
        fits(self.grid, shape)

    def latent(self, batch: Batch) -> int:
        return self.grid**2

    def sample(self, batch: Batch, keys: Tensor) -> Tensor:
        return self._with_share(uniform(keys, self.grid**2)).to(batch.images.dtype)

    def push(self, z: Tensor, batch: Batch) -> Tensor:
        return self._with_share(torch.special.ndtr(z))

    def identity(self, batch: Batch) -> Tensor:
        return batch.images.new_zeros(len(batch.images), 1 + self.grid**2)

    def log_prior(self, theta: Tensor, batch: Batch) -> None:
        return None

    def at(self, theta: Tensor, severity: Tensor | float, batch: Batch) -> Tensor:
        factor = as_factor(severity, theta)
        share = (factor * theta[..., :1]).clamp(max=1)
        moved = torch.cat((share, theta[..., 1:].expand(*share.shape[:-1], -1)), -1)
        return moved.masked_fill(factor == 0, 0.0)

    def apply(self, batch: Batch, theta: Tensor) -> Tensor:
        images, grid = batch.images, self.grid
        count, channels, height, width = images.shape
        edges = [place * width // grid for place in range(grid + 1)]
        # Rows of patches are moved, not pixels. The last patch is the widest, so none reaches past the border.
        widest = -(-width // grid)
        if width % grid == 0:
            runs = images.reshape(-1, widest)
        else:
            runs = torch.stack([images[..., left : left + widest] for left in edges[:-1]], -2).view(-1, widest)
        row = torch.arange(height, device=images.device)
        cell, first = cells(height, grid, images.device), torch.arange(grid, device=images.device) * height // grid
        source = self.sources(theta).view(-1, grid, grid).index_select(1, cell)
        within = (first[source // grid] + (row - first[cell])[:, None]) * grid + source % grid
        image = torch.arange(count * channels, device=images.device).view(count, channels, 1, 1) * (height * grid)
        moved = runs.index_select(0, (within[:, None] + image).flatten())
        if width % grid == 0:
            return moved.view(images.shape)
        moved = moved.view(count, channels, height, grid, widest)
        return torch.cat([moved[..., place, : right - left] for place, (left, right) in enumerate(pairwise(edges))], -1)

    def sources(self, theta: Tensor) -> Tensor:
        """θ (B, 1 + grid²) → (B, grid²): the patch that moves to each place."""
        patches = self.grid**2
        moving = (theta[:, :1].double() * patches).round()
        order = theta[:, 1:].argsort(stable=True)
        turn = torch.arange(patches, device=theta.device)
        if self.moves == "permutation":
            # The first places to be filled are those of the patches that move; the others stay where they are.
            places = order.masked_fill(turn >= moving, patches).sort(1).values
            places = torch.where(turn < moving, places, order)
            return torch.empty_like(order).scatter_(1, places, order)
        following = torch.where(turn < moving - 1, turn + 1, torch.where(turn < moving, 0, turn))
        return torch.empty_like(order).scatter_(1, order, order.gather(1, following))

    def describe(self, height: int, width: int) -> str:
        count = round(self.share * self.grid**2)
        moving = count if count > 1 else "none"
        how = "swap places" if self.moves == "cycle" else "are put into a random order of their places"
        return (
            f"{moving} of the {self.grid}×{self.grid} patches, about {height / self.grid:.3g}×"
            f"{width / self.grid:.3g} pixels each, {how}"
        )

    def _with_share(self, numbers: Tensor) -> Tensor:
        return torch.cat((numbers.new_full((*numbers.shape[:-1], 1), self.share), numbers), -1)
