"""Base classes of nuisances that move pixels: any such nuisance, and those given by one matrix per image."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor

from brittle.constants import constant
from brittle.nuisances.base.gaussian import GaussianNuisance
from brittle.nuisances.ops.pieces import by_pieces
from brittle.nuisances.ops.warp import Interpolation, Outside, affine_sources, resample
from brittle.registry import option
from brittle.types import Batch

Unit = Literal["share", "pixels"]


@dataclass(frozen=True, kw_only=True)
class GeometricNuisance(GaussianNuisance):
    """A nuisance that moves pixels: θ says where each takes its value from."""

    fill: Outside = option(0.0, "what lies outside the image: a grey value in [0, 1], edge or mirror", least=0, most=1)
    interpolation: Interpolation = option("bilinear", "bilinear, nearest or bicubic")

    piece: ClassVar[int] = 300_000  # values that each of a CPU's threads moves at a time: two photographs
    upright: ClassVar[bool] = False  # whether rows of pixels are taken from rows

    @abstractmethod
    def sources(self, theta: Tensor, height: int, width: int) -> Tensor:
        """θ (B, d) → the source of each output pixel in the input (B, H, W, 2), as (x, y) in [−1, 1]."""

    def centre(self, batch: Batch) -> Tensor:
        return constant((0.0,) * self.latent(batch), batch.images.device)

    def apply(self, batch: Batch, theta: Tensor) -> Tensor:
        return by_pieces(self._moved, self.piece, batch.images, theta, scattered=not self.upright)

    def _moved(self, images: Tensor, theta: Tensor) -> Tensor:
        return resample(images, self.sources(theta, *images.shape[-2:]), self.fill, self.interpolation)


@dataclass(frozen=True, kw_only=True)
class MatrixNuisance(GeometricNuisance):
    """A nuisance whose θ becomes one 2×3 matrix per image."""

    @abstractmethod
    def matrices(self, theta: Tensor, height: int, width: int) -> Tensor:
        """θ (B, d) → [A | t] (B, 2, 3) in [−1, 1] coordinates."""

    def sources(self, theta: Tensor, height: int, width: int) -> Tensor:
        return affine_sources(self.matrices(theta, height, width), height, width)
