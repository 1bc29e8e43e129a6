"""A share of the tiles of a grid is hidden (Marcu & Prügel-Bennett 2022, appendix C.5)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.nuisances import register
from brittle.nuisances.occlusion.occluder import BlindOccluder
from brittle.nuisances.occlusion.shares import ShareLaw
from brittle.nuisances.ops.cells import cells, fits
from brittle.registry import option
from brittle.types import Batch


@register("tiles")
@dataclass(frozen=True, kw_only=True)
class Tiles(ShareLaw, BlindOccluder):
    """Hides whole tiles of a grid. Prior: the share by `law`, rounded to whole tiles; which tiles, uniform.

    θ is the share of the tiles and one number in [0, 1] for each tile, row by row: tiles are hidden in the order of
    their numbers, smallest first, until the share is reached. The paper's grid is 4×4. If the grid does not divide a
    side, tiles differ by one pixel. Severity s hides s times the share, the same tiles first, until all are hidden; if
    that is not a whole number of tiles, the last one grows from its centre. Which tiles are hidden has no density:
    log_prior is None."""

    grid: int = option(4, "how many tiles there are across and down", least=1, most=64)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_law()
        if self.law == "exact" and not float(self.draw_share(torch.zeros(0))):
            raise BrittleError(
                f"{self.share_words} of {self.grid**2} tiles is less than half a tile",
                "Use a finer grid or a larger share.",
            )

    def draw_share(self, uniforms: Tensor) -> Tensor:
        return (super().draw_share(uniforms) * self.grid**2).round() / self.grid**2

    @property
    def mask_names(self) -> tuple[str, ...]:
        return ("share", *(f"tile {row}, {column}" for row in range(self.grid) for column in range(self.grid)))

    def check(self, shape: tuple[int, int, int]) -> None:
        super().check(shape)
        fits(self.grid, shape)

    def mask_size(self, batch: Batch) -> int:
        return 1 + self.grid**2

    def mask_latent(self, batch: Batch) -> int:
        return self.share_latent + self.grid**2

    def mask_push(self, z: Tensor, batch: Batch) -> Tensor:
        uniforms = torch.special.ndtr(z)
        return torch.cat((self.draw_share(uniforms[..., : self.share_latent]), uniforms[..., self.share_latent :]), -1)

    def mask_log_prior(self, theta: Tensor, batch: Batch) -> None:
        return None

    def mask_at(self, theta: Tensor, severity: Tensor, batch: Batch) -> Tensor:
        return torch.cat(((theta[..., :1] * severity).clamp(max=1), theta[..., 1:]), -1)

    def hidden(self, theta: Tensor, height: int, width: int) -> Tensor:
        # Rounded to a thousandth of a tile, since a share such as 1/9 is not exact in float32.
        count = (theta[:, :1].double() * (self.grid**2 * 1024)).round() / 1024
        order = theta[:, 1:].argsort(stable=True)
        rank = torch.empty_like(order).scatter_(
            1, order, torch.arange(self.grid**2, device=theta.device).expand_as(order)
        )
        part = (count - rank).clamp(0, 1).view(-1, 1, self.grid, self.grid).to(theta.dtype)
        rows, columns = (cells(side, self.grid, theta.device) for side in (height, width))
        return _squared_radius(height, width, self.grid, theta.dtype, theta.device) < part.index_select(
            3, columns
        ).index_select(2, rows)

    def describe(self, height: int, width: int) -> str:
        share = f"{self.share_words}, in whole tiles,"
        if self.law == "exact":
            share = f"{float(self.draw_share(torch.zeros(0))) * self.grid**2:.0f}"
        return (
            f"{share} of the {self.grid}×{self.grid} tiles, about {height / self.grid:.3g}×"
            f"{width / self.grid:.3g} pixels each, filled with {self.filled_with}"
        )


@lru_cache(maxsize=16)
def _squared_radius(height: int, width: int, grid: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """(H, W): the share of its tile that is hidden when a rectangle grown from the tile's centre reaches each pixel."""
    with torch.inference_mode(False):  # cached for later calls
        sides = []
        for side in (height, width):
            cell = cells(side, grid, torch.device("cpu"))
            size = cell.bincount()
            offset = torch.arange(side) - (size.cumsum(0) - size)[cell]
            sides.append(((2 * offset + 1) / size[cell] - 1).abs())
        radius = torch.maximum(sides[0][:, None], sides[1])
        return radius.square().to(device, dtype)
