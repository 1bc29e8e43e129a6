"""The metric that an image induces on affine maps: how much it changes as the map moves away from the identity.

With T_θ x the image x under the map [A | t], G(x)ᵢⱼ = ⟨∂ᵢT_θ x, ∂ⱼT_θ x⟩ at the identity, a mean over pixels and
channels, where ∂T_θ x = ∇x · ∂(A u + t). With the prior N(1, (αG)⁻¹) alone, a faint image would get extreme maps, a
blank one no proper distribution at all, and α would mean something else for every image. So G is first normalised and
mixed with a tenth of the uniform metric D, and then scaled so that the prior's mean squared displacement tr(DΣ) is the
uniform prior's, 6/(ακ): α and κ say how far pixels move, on any image, and the image only says in which directions.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from brittle.constants import constant
from brittle.nuisances.ops.warp import pixel_centres

# D: the mean over [−1, 1]² of ‖δA·u + δt‖², a diagonal on (a11, a21, a12, a22, t1, t2).
DISPLACEMENT = (1 / 3, 1 / 3, 1 / 3, 1 / 3, 1.0, 1.0)
UNIFORM_SHARE = 0.1
# An image whose values change by less than one grey level over half its side counts as blank.
BLANK = (1 / 255) ** 2
LATTICE = 64


def image_metric(images: Tensor) -> Tensor:
    """images (B, C, H, W) → G(x) (B, 6, 6) on the columns of [A | t], float64.

    Derivatives are central differences, as bilinear sampling gives them, at pixels with neighbours on all sides: what
    comes in from outside belongs to the fill, not to the image. On a side of 128 pixels or more, at most every third
    pixel is used, so that 42 to 85 remain: they determine a 6×6 matrix to within a few per cent.
    """
    height, width = images.shape[-2:]
    # An odd stride covers every phase of JPEG's blocks of 8.
    rows, columns = (slice(1, side - 1, side // LATTICE | 1) for side in (height, width))
    x = (images[..., rows, 2 :: columns.step] - images[..., rows, : -2 : columns.step]) * (width / 4)
    y = (images[..., 2 :: rows.step, columns] - images[..., : -2 : rows.step, columns]) * (height / 4)
    mixed = (x * y).mean(1)
    structure = torch.stack(((x * x).mean(1), mixed, mixed, (y * y).mean(1)), 1).flatten(2)
    moments = structure.double() @ _monomials(height, width, images.device)
    # G[(p, c), (q, d)] = ⟨mₚ m_q · ∂_c x ∂_d x⟩ with m = (x, y, 1) and (c, d) the components of the gradient.
    metric: Tensor = moments.view(-1, 2, 2, 3, 3).permute(0, 3, 1, 4, 2).reshape(-1, 6, 6)
    return metric


@lru_cache(maxsize=64)
def _monomials(height: int, width: int, device: torch.device) -> Tensor:
    """(pixels, 9): mₚ m_q with m = (x, y, 1) at the pixels that `image_metric` uses, divided by their number."""
    with torch.inference_mode(False):  # cached for later calls, some of which need gradients
        sides = [pixel_centres(side, torch.float64, device)[1 : -1 : side // LATTICE | 1] for side in (height, width)]
        y, x = torch.meshgrid(*sides, indexing="ij")
        linear = torch.stack((x, y, torch.ones_like(x)), -1).flatten(0, 1)
        return (linear[:, :, None] * linear[:, None, :]).flatten(1) / len(linear)


def image_precision(images: Tensor) -> Tensor:
    """images (B, C, H, W) → lower P (B, 6, 6), Σ⁻¹ = P Pᵀ, of the prior with ακ = 1; float64."""
    uniform = constant(DISPLACEMENT, images.device)
    metric = image_metric(images)
    size = (metric.diagonal(dim1=-2, dim2=-1) / uniform).mean(-1)[:, None, None]
    mixed = (1 - UNIFORM_SHARE) * metric / (size + BLANK) + UNIFORM_SHARE * torch.diag(uniform)
    # cholesky_ex, since cholesky waits for the device to report success, which a tenth of D guarantees.
    lower = torch.linalg.cholesky_ex(mixed).L
    inverse = torch.linalg.solve_triangular(lower, torch.eye(6, dtype=lower.dtype, device=lower.device), upper=False)
    displacement = (uniform * inverse.square().sum(-2)).mean(-1)
    precision: Tensor = lower * displacement.sqrt()[:, None, None]
    return precision
