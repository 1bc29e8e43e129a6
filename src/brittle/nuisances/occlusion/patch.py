"""One rectangle that covers a given share of the image: the variants of CutOcclusion (Marcu & Prügel-Bennett 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from brittle.nuisances import register
from brittle.nuisances.occlusion.occluder import BlindOccluder
from brittle.nuisances.occlusion.shares import ShareLaw
from brittle.nuisances.ops.rectangles import rectangles_mask
from brittle.registry import option
from brittle.types import Batch


@register("patch")
@dataclass(frozen=True, kw_only=True)
class Patch(ShareLaw, BlindOccluder):
    """A rectangle with the proportions of the image. Prior: the share by `law`; its place uniform, either among all
    places inside the image or, if overhanging, with its centre anywhere in the image.

    The variants of Marcu & Prügel-Bennett (2022):
    `patch:law=uniform,low=0.7,high=1,place=overhanging` (section 2.2, Table 3), `patch:law=uniform` and
    `patch:law=beta` (U[0.1, 1] and Beta(2, 1), inside; appendix C.1, Table 14), `patch:share=0.3` (an exact share,
    inside; section 3). The paper does not say whether "size" refers to the sides or to the area; `of` chooses.

    θ is the share, and where the patch lies across and down, in [0, 1]. Sides are rounded to whole pixels. Severity s
    hides s times the area, about the same point, until the whole image is hidden. log_prior is None if the share is
    exact, since it then has no density; push(z) always exists."""

    place: Literal["inside", "overhanging"] = option("inside", "inside, or overhanging: only its centre is inside")
    of: Literal["area", "side"] = option("area", "what the share is a share of: the image's area or each of its sides")

    @property
    def share_is_exact(self) -> bool:
        """An overhanging patch hides less than its share."""
        return self.law == "exact" and self.place == "inside"

    @property
    def share_of(self) -> str:
        return "sides" if self.of == "side" else "pixels"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_law()

    @property
    def mask_names(self) -> tuple[str, ...]:
        return ("share", "place x", "place y")

    def mask_size(self, batch: Batch) -> int:
        return 3

    def mask_latent(self, batch: Batch) -> int:
        return self.share_latent + 2

    def mask_push(self, z: Tensor, batch: Batch) -> Tensor:
        uniforms = torch.special.ndtr(z)
        return torch.cat((self.draw_share(uniforms[..., : self.share_latent]), uniforms[..., self.share_latent :]), -1)

    def mask_log_prior(self, theta: Tensor, batch: Batch) -> Tensor | None:
        density = self.share_log_prior(theta[..., 0])
        inside = ((theta[..., 1:] >= 0) & (theta[..., 1:] <= 1)).all(-1)
        return None if density is None else torch.where(inside, density, -math.inf)

    def mask_at(self, theta: Tensor, severity: Tensor, batch: Batch) -> Tensor:
        # An overhanging patch always hides the whole image once its sides are twice the image's.
        side = 1.0 if self.place == "inside" else 2.0
        grown = theta[..., :1] * (severity if self.of == "area" else severity.sqrt())
        return torch.cat((grown.clamp(max=side if self.of == "side" else side**2), theta[..., 1:]), -1)

    def hidden(self, theta: Tensor, height: int, width: int) -> Tensor:
        share, x, y = theta.double().unbind(-1)
        side = share.sqrt() if self.of == "area" else share
        left, right = self._along(side, x, width)
        top, bottom = self._along(side, y, height)
        return rectangles_mask(torch.stack((left, top, right, bottom), -1)[:, None], height, width)

    def _along(self, share: Tensor, place: Tensor, pixels: int) -> tuple[Tensor, Tensor]:
        """Where a patch with this share of a side begins and ends."""
        side = (share * pixels).round()
        if self.place == "inside":
            first = torch.minimum((place * (pixels - side + 1)).floor(), pixels - side)
        else:
            first = (place * pixels - side / 2 + 0.5).floor()
        return first, first + side

    def describe(self, height: int, width: int) -> str:
        of = f"{self.share_words} of the image's {'area' if self.of == 'area' else 'sides'}"
        if self.law == "exact":
            share = float(self.draw_share(torch.zeros(0, dtype=torch.float64)))
            side = math.sqrt(share) if self.of == "area" else share
            of = f"{round(side * height)}×{round(side * width)} pixels (about {of})"
        where = "inside it" if self.place == "inside" else "with its centre inside it"
        return f"a rectangle of {of}, {where}, filled with {self.filled_with}"
