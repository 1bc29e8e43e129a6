"""Nuisances applied one after the other: the prior is the product of theirs, and θ their θs concatenated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.random import fold
from brittle.types import Batch, Nuisance, Traceable


@dataclass(frozen=True)
class Compose:
    """Several nuisances, written `affine:alpha=50+brightness:sigma=0.1`: the first is applied first.

    Each part's prior is that for the original image; severity applies to all parts at once.
    """

    parts: tuple[Nuisance, ...]
    names: tuple[str, ...]  # of the parts, as prefixes of their parameters' names

    def __post_init__(self) -> None:
        if len(self.parts) < 2:
            raise BrittleError("a composition needs at least two nuisances", "Write affine+brightness.")

    @property
    def parameters(self) -> list[str]:
        return [f"{name} {each}" for name, part in zip(self.names, self.parts, strict=True) for each in part.parameters]

    @property
    def needs(self) -> frozenset[str]:
        return frozenset().union(*(part.needs for part in self.parts))

    @property
    def differentiable(self) -> bool:
        return all(part.differentiable for part in self.parts)

    @property
    def traceable(self) -> bool:
        return all(isinstance(part, Traceable) and part.traceable for part in self.parts)

    def check(self, shape: tuple[int, int, int]) -> None:
        for part in self.parts:
            part.check(shape)

    def latent(self, batch: Batch) -> int | None:
        lengths = [part.latent(batch) for part in self.parts]
        known = [length for length in lengths if length is not None]
        return sum(known) if len(known) == len(lengths) else None

    def sample(self, batch: Batch, keys: Tensor) -> Tensor:
        return torch.cat([part.sample(batch, fold(keys, place)) for place, part in enumerate(self.parts)], -1)

    def push(self, z: Tensor, batch: Batch) -> Tensor:
        if self.latent(batch) is None:
            raise BrittleError("this composition has a part without a latent form", "Draw θ with sample.")
        pieces = torch.split(z, [part.latent(batch) or 0 for part in self.parts], -1)
        return torch.cat([part.push(piece, batch) for part, piece in zip(self.parts, pieces, strict=True)], -1)

    def identity(self, batch: Batch) -> Tensor:
        return torch.cat([part.identity(batch) for part in self.parts], -1)

    def log_prior(self, theta: Tensor, batch: Batch) -> Tensor | None:
        total: Tensor | None = None
        for part, piece in self._pieces(theta, batch):
            density = part.log_prior(piece, batch)
            if density is None:
                return None
            total = density if total is None else total + density
        return total

    def at(self, theta: Tensor, severity: Tensor | float, batch: Batch) -> Tensor:
        return torch.cat([part.at(piece, severity, batch) for part, piece in self._pieces(theta, batch)], -1)

    def apply(self, batch: Batch, theta: Tensor) -> Tensor:
        for part, piece in self._pieces(theta, batch):
            batch = batch._replace(images=part.apply(batch, piece))
        return batch.images

    def describe(self, height: int, width: int) -> str:
        return ", then ".join(part.describe(height, width) for part in self.parts)

    def _pieces(self, theta: Tensor, batch: Batch) -> Iterator[tuple[Nuisance, Tensor]]:
        # One image is enough to find out how many numbers each part takes.
        one = batch.take(torch.zeros(1, dtype=torch.int64, device=batch.images.device))
        lengths = [part.identity(one).shape[-1] for part in self.parts]
        return zip(self.parts, torch.split(theta, lengths, -1), strict=True)
