"""Perspective: homographies of the image plane, as of a flat scene seen from another viewpoint."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from brittle.constants import constant
from brittle.nuisances import register
from brittle.nuisances.geometry.affine import IDENTITY, affine_deviations, affine_displacement
from brittle.nuisances.geometry.geometric import GeometricNuisance
from brittle.nuisances.ops.warp import projective_sources
from brittle.registry import option
from brittle.types import Batch

LIMIT = 0.9  # of |perspective x| + |perspective y|; at 1 the horizon would touch a corner of the image


@register("projective")
@dataclass(frozen=True)
class Projective(GeometricNuisance):
    """Homographies: an affine map divided by 1 + perspective x · x + perspective y · y. Prior: the first six
    numbers as in `affine`, N(1, (αG)⁻¹); each perspective number ~ N(0, perspective²); all independent.

    θ is the 3×3 matrix by columns in [−1, 1] coordinates with a last entry of 1: [A | t], then the two perspective
    numbers. A positive perspective x enlarges the right of the image and shrinks the left; perspective y the same
    for bottom and top. The divisor is positive on the whole image as long as |perspective x| + |perspective y| < 1; if
    they exceed 0.9 together, the transform scales them back to that, so the divisor never falls below 0.1 and the prior
    stays Gaussian. At the default that happens to one draw in 10⁹, and at severity 2 to three in a thousand. Severity 1
    is the drawn θ, severity 2 twice as far from the identity."""

    alpha: float = option(
        100.0, "how concentrated the prior of the affine part is about the identity", above=0, shown="α {}"
    )
    kappa: float = option(1.75, "the affine metric's scale κ, as in affine", above=0)
    perspective: float = option(
        0.1, "standard deviation of the two perspective numbers; 0.1 zooms an edge by 10 %", above=0
    )

    title: ClassVar[str] = "Projective map"
    parameters: ClassVar = ("a11", "a21", "a12", "a22", "shift x", "shift y", "perspective x", "perspective y")
    parameter_units: ClassVar = {"shift x": "half widths", "shift y": "half heights"}

    def centre(self, batch: Batch) -> Tensor:
        return constant((*IDENTITY, 0.0, 0.0), batch.images.device)

    def deviations(self, batch: Batch) -> Tensor:
        affine = affine_deviations(self.alpha, self.kappa)
        return constant((*affine, self.perspective, self.perspective), batch.images.device)

    def homographies(self, theta: Tensor) -> Tensor:
        """θ (B, 8) → (B, 3, 3), the last row limited so that it is positive over the image."""
        affine = theta[:, :6].view(-1, 3, 2).transpose(1, 2)
        excess = (theta[:, 6:].abs().sum(1, keepdim=True) / LIMIT).clamp_min(1.0)
        last = torch.cat((theta[:, 6:] / excess, torch.ones_like(excess)), 1)
        return torch.cat((affine, last[:, None]), 1)

    def sources(self, theta: Tensor, height: int, width: int) -> Tensor:
        return projective_sources(self.homographies(theta), height, width)

    def describe(self, height: int, width: int) -> str:
        # To first order perspective moves u by −u (p·u), whose mean square over [−1, 1]² is (1/5 + 1/9)·σ² each way.
        moved = affine_displacement(self.alpha, self.kappa, height, width)
        tilt = self.perspective * math.sqrt(14 / 45) * math.hypot(width / 2, height / 2)
        return (
            f"homographies whose affine part moves a pixel by {moved:.3g} pixels and "
            f"whose perspective moves it by {tilt:.3g} pixels (root mean square over the image and the prior)"
        )
