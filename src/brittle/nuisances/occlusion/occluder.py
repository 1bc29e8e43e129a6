"""The base class of nuisances that hide pixels: what the hidden pixels become, and how θ represents it.

The fill is a grey value, the image's mean colour, uniform noise, or a piece of an image from another image set. θ is
the mask's numbers and then the fill's: none for a grey value or the mean colour; for noise, a seed from which the noise
is generated; for a texture, the number of the image and where the piece lies in it, across and down, as shares of the
available room. The fill's numbers stay the same along the severity path; the identity is θ = 0, whose mask is empty.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from brittle.errors import BrittleError
from brittle.nuisances.base.seeds import SEED_NAMES, seed_from, seed_keys, seed_log_prior
from brittle.nuisances.ops.broadcast import as_factor
from brittle.random import fold, normal, uniform, uniform_field
from brittle.registry import option
from brittle.types import Batch

Fill = float | Literal["mean", "noise"]

_WORDS = {"mean": "the image's mean colour", "noise": "noise"}


class TextureImages(Protocol):
    """What a texture must offer: the part of an image set that is used here."""

    @property
    def shape(self) -> tuple[int, int, int]: ...

    def __len__(self) -> int: ...

    def batch(self, positions: Sequence[int] | Tensor) -> Batch: ...


@dataclass(frozen=True, kw_only=True)
class Occluder(ABC):
    """Hides the pixels of a mask. A subclass defines the mask: its names, its draws, its growth, its pixels.

    Severity scales the hidden share, and masks are nested: what is hidden stays hidden at higher severities."""

    fill: Fill = option(
        0.0,
        "what the hidden pixels become: a grey value in [0, 1], mean (colour of the image) or noise",
        least=0,
        most=1,
    )
    texture: Any = option(
        None,
        "an image set's spec (commas as \\,): a piece of a random image of it fills the hidden pixels",
        image_set=True,
    )

    needs: ClassVar[frozenset[str]] = frozenset()
    differentiable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.texture is not None and self.fill != 0.0:
            raise BrittleError("options 'fill' and 'texture' both say what hidden pixels become", "Give one of them.")

    @property
    def on_host(self) -> bool:
        """Whether masks need something that is computed with other than tensors."""
        return False

    @property
    def traceable(self) -> bool:
        """Not with textures, which are read from files."""
        return self.texture is None and not self.on_host

    @property
    @abstractmethod
    def mask_names(self) -> tuple[str, ...]:
        """A name for each number of the mask; a single name if it is a field."""

    @abstractmethod
    def mask_size(self, batch: Batch) -> int:
        """How many numbers the mask has."""

    @abstractmethod
    def mask_latent(self, batch: Batch) -> int | None:
        """How many normal numbers the mask is made from; None if there is no such form."""

    @abstractmethod
    def mask_push(self, z: Tensor, batch: Batch) -> Tensor:
        """z (..., mask_latent) float64 → the mask's numbers (..., mask_size)."""

    @abstractmethod
    def mask_log_prior(self, theta: Tensor, batch: Batch) -> Tensor | None:
        """The mask's numbers (B, n, mask_size) → log density (B, n)."""

    @abstractmethod
    def mask_at(self, theta: Tensor, severity: Tensor, batch: Batch) -> Tensor:
        """The mask's numbers (..., mask_size) at a severity (..., 1) above 0."""

    @abstractmethod
    def mask(self, theta: Tensor, batch: Batch) -> Tensor:
        """The mask's numbers (B, mask_size), one row per image → which pixels are hidden, bool (B, 1, H, W)."""

    @abstractmethod
    def describe(self, height: int, width: int) -> str:
        """What the prior means on images of this size."""

    @property
    def parameters(self) -> Sequence[str]:
        return (*self.mask_names, *self._filling_names)

    def check(self, shape: tuple[int, int, int]) -> None:
        if isinstance(self.texture, str):
            raise BrittleError(
                f"the texture {self.texture!r} is still a spec: its images have not been loaded",
                "In Python, pass the image set itself: texture=brittle.image_set(…).",
            )
        if self.texture is not None and self.texture.shape[0] != shape[0]:
            raise BrittleError(
                f"the texture's images have {self.texture.shape[0]} channels, but the images {shape[0]}",
                "Use a texture with as many channels as the images.",
            )

    def latent(self, batch: Batch) -> int | None:
        length = self.mask_latent(batch)
        return None if length is None else length + len(self._filling_names)

    def sample(self, batch: Batch, keys: Tensor) -> Tensor:
        length = self.latent(batch)
        assert length is not None, "a mask without a latent form overrides sampling"
        return self.push(normal(keys, length), batch).to(batch.images.dtype)

    def push(self, z: Tensor, batch: Batch) -> Tensor:
        length = self.mask_latent(batch)
        if length is None:
            raise BrittleError("this prior has no form θ = push(z)", "Draw from it with sample.")
        mask = self.mask_push(z[..., :length].double(), batch)
        return torch.cat((mask, self.filling(torch.special.ndtr(z[..., length:].double()))), -1).to(z.dtype)

    def identity(self, batch: Batch) -> Tensor:
        length = self.mask_size(batch) + len(self._filling_names)
        return batch.images.new_zeros(len(batch.images), length)

    def log_prior(self, theta: Tensor, batch: Batch) -> Tensor | None:
        size = self.mask_size(batch)
        density = self.mask_log_prior(theta[..., :size], batch)
        if density is None or theta.shape[-1] == size:
            return density
        return density + self._filling_log_prior(theta[..., size:])

    def at(self, theta: Tensor, severity: Tensor | float, batch: Batch) -> Tensor:
        factor = as_factor(severity, theta)
        theta = theta.expand_as(factor * theta)
        size = self.mask_size(batch)
        moved = torch.cat((self.mask_at(theta[..., :size], factor, batch), theta[..., size:]), -1)
        return moved.masked_fill(factor == 0, 0.0)

    def apply(self, batch: Batch, theta: Tensor) -> Tensor:
        images, size = batch.images, self.mask_size(batch)
        hidden = self.mask(theta[:, :size], batch)
        if self.texture is not None:
            return torch.where(hidden, self._pieces(images, theta[:, size:]), images)
        if self.fill == "mean":
            return torch.where(hidden, images.mean((2, 3), keepdim=True), images)
        if self.fill == "noise":
            noise = uniform_field(seed_keys(theta[:, size:]), images[0].numel()).view(images.shape).to(images.dtype)
            return torch.where(hidden, noise, images)
        if self.fill == 0:
            return images * hidden.logical_not()  # black, without torch.where, which takes twice as long
        return torch.where(hidden, self.fill, images)

    def hidden_pixels(self, theta: Tensor, batch: Batch) -> Tensor:
        return self.mask(theta[:, : self.mask_size(batch)], batch)

    def unfilled(self) -> Occluder:
        return replace(self, fill=0.0, texture=None)

    @property
    def filled_with(self) -> str:
        """What the hidden pixels become, in words."""
        if self.texture is not None:
            return "pieces of other images"
        return _WORDS[self.fill] if isinstance(self.fill, str) else f"grey {self.fill:g}" if self.fill else "black"

    @property
    def _filling_names(self) -> tuple[str, ...]:
        if self.texture is not None:
            return ("picture", "piece x", "piece y")
        return SEED_NAMES if self.fill == "noise" else ()

    def filling(self, shares: Tensor) -> Tensor:
        """Uniform numbers (..., size of the fill) → the fill's part of θ."""
        if self.texture is not None:
            return torch.cat((_whole(shares[..., :1], len(self.texture)), shares[..., 1:]), -1)
        return seed_from(shares)

    def draw_filling(self, keys: Tensor) -> Tensor:
        """keys (...) → the fill's part of θ (..., size of the fill), float64."""
        return self.filling(uniform(fold(keys, -1), len(self._filling_names)))

    def _filling_log_prior(self, theta: Tensor) -> Tensor:
        """Images are uniform, where a real number counts as the nearest whole one."""
        if self.texture is None:
            return seed_log_prior(theta)
        number, place = theta[..., 0], theta[..., 1:]
        count = len(self.texture)
        inside = (number >= -0.5) & (number < count - 0.5) & ((place >= 0) & (place <= 1)).all(-1)
        return torch.where(inside, theta.new_full((), -math.log(count)), -math.inf)

    def _pieces(self, images: Tensor, theta: Tensor) -> Tensor:
        """The piece of texture for each image, from a texture image scaled so that it just covers the image."""
        height, width = images.shape[-2:]
        texture: TextureImages = self.texture
        # Textures are read on the host: the only place where a nuisance waits for the device.
        numbers = theta[:, 0].round().clamp(0, len(texture) - 1).long().cpu()
        pictures = texture.batch(numbers).images.to(images)
        cover = max(height / pictures.shape[-2], width / pictures.shape[-1])
        size = (max(height, round(cover * pictures.shape[-2])), max(width, round(cover * pictures.shape[-1])))
        if size != tuple(pictures.shape[-2:]):
            pictures = F.interpolate(pictures, size, mode="bilinear", antialias=True).clamp_(0, 1)
        if size == (height, width):
            return pictures
        left = _whole(theta[:, 1], size[1] - width + 1).long()
        top = _whole(theta[:, 2], size[0] - height + 1).long()
        rows = top[:, None, None] + torch.arange(height, device=images.device)[:, None]
        columns = left[:, None, None] + torch.arange(width, device=images.device)
        each = torch.arange(len(images), device=images.device)[:, None, None]
        return pictures.permute(0, 2, 3, 1)[each, rows, columns].permute(0, 3, 1, 2)


@dataclass(frozen=True, kw_only=True)
class BlindOccluder(Occluder):
    """An occluder whose mask depends on nothing of the image but its size."""

    @abstractmethod
    def hidden(self, theta: Tensor, height: int, width: int) -> Tensor:
        """The mask's numbers (B, mask_size) → which pixels are hidden, bool (B, 1, H, W)."""

    def mask(self, theta: Tensor, batch: Batch) -> Tensor:
        return self.hidden(theta, *batch.images.shape[-2:])


def _whole(shares: Tensor, count: int) -> Tensor:
    """Uniform on [0, 1] → uniform on 0, 1, …, count − 1."""
    return (shares * count).floor().clamp(0, count - 1)
