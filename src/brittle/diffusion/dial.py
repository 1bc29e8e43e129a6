"""A generated shift as a nuisance: θ is the scale of a slider, and T_θ x is the same class and seed at that scale.

Unlike stored images it exists at every scale, so that breaking and failure points are narrowed as far as anybody likes.
Its images are those of an image set that the same generator makes: of others it knows neither prompt nor seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from brittle.diffusion.generator import SEEDS, Generator, Made
from brittle.errors import BrittleError
from brittle.random import uniform
from brittle.types import Batch, SeverityScale, in_numbers


@dataclass(frozen=True, eq=False)
class SliderDial:
    """One shift, or several that are added with weights: "fog", or fog and snow. The prior is uniform up to the
    highest of its scales."""

    name: str
    generator: Generator
    shifts: Mapping[str, float]  # with their weights
    scales: tuple[float, ...]  # above 0, rising: the coarse grid
    labels: frozenset[int] = field(default_factory=frozenset)  # of the classes that there are sliders for

    @property
    def severity_scale(self) -> SeverityScale:
        return SeverityScale("scale", 1.0, self.scales, self.scales[0] / 5, self.scales[-1])

    @property
    def parameters(self) -> tuple[str, ...]:
        return ("scale",)

    @property
    def needs(self) -> frozenset[str]:
        return frozenset()

    @property
    def differentiable(self) -> bool:
        return False

    def check(self, shape: tuple[int, int, int]) -> None:
        """Images of another shape are found when they are made."""

    def exists(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.isin(ids // SEEDS, sorted(self.labels))

    def latent(self, batch: Batch) -> int | None:
        return 1

    def sample(self, batch: Batch, keys: Tensor) -> Tensor:
        return self.scales[-1] * uniform(keys, 1).float()

    def push(self, z: Tensor, batch: Batch) -> Tensor:
        share: Tensor = torch.special.ndtr(z)
        return self.scales[-1] * share

    def identity(self, batch: Batch) -> Tensor:
        return torch.zeros(len(batch.ids), 1, device=batch.ids.device)

    def log_prior(self, theta: Tensor, batch: Batch) -> Tensor | None:
        inside = (theta >= 0) & (theta <= self.scales[-1])
        return torch.where(inside, -float(np.log(self.scales[-1])), -torch.inf)[..., 0]

    def at(self, theta: Tensor, severity: Tensor | float, batch: Batch) -> Tensor:
        if not isinstance(severity, Tensor):
            return torch.full_like(theta, severity)
        return severity.to(theta)[..., None].expand_as(theta)

    def apply(self, batch: Batch, theta: Tensor) -> Tensor:
        wanted = [
            Made.of(identifier, {shift: weight * scale for shift, weight in self.shifts.items()})
            for identifier, scale in zip(batch.ids.tolist(), theta[:, 0].tolist(), strict=True)
        ]
        made = in_numbers(self.generator.images(wanted)).to(batch.images)
        if made.shape != batch.images.shape:
            raise BrittleError(
                f"the shift {self.name!r} makes images of {tuple(made.shape[1:])} and those at scale 0 are "
                f"{tuple(batch.images.shape[1:])} (channels, height, width)",
                "Use it on the image set that brings it, uncropped.",
            )
        return made

    def describe(self, height: int, width: int) -> str:
        return f"generated at a scale between 0 and {self.scales[-1]:g}, each as likely"

    def fingerprint(self) -> bytes:
        about = repr((self.name, sorted(self.shifts.items()), self.scales, self.generator.identity))
        return hashlib.blake2b(about.encode(), digest_size=16).digest()
