"""T_θ x made again: a run stores nothing but rows; pictures follow from seed, id, nuisance and draw number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from brittle.images.base import ImageSet
from brittle.measures.draws import draw_theta
from brittle.nuisances import transformed
from brittle.random import draw_keys, stream_root
from brittle.types import Batch, Nuisance


@dataclass(frozen=True)
class Replay:
    """An image set, in planned order, under one nuisance."""

    images: ImageSet
    nuisance: Nuisance
    stream: str
    seed: int
    device: torch.device | str = "cpu"

    def theta(self, place: int, draw: int) -> Tensor:
        """θ (d,) of one draw of one image."""
        return self._drawn(self.images.batch([place], self.device), torch.tensor([draw], device=self.device))[0]

    def prior(self, batch: Batch, count: int) -> Tensor:
        """θ (B, n, d): the prior's first draws, those that a measurement sees."""
        return self.nuisance.sample(batch, draw_keys(self.seed, self.stream, batch.ids, torch.arange(count)))

    def _drawn(self, batch: Batch, draws: Tensor, within: int | None = None) -> Tensor:
        further = None if within is None else torch.full_like(draws, within)
        return draw_theta(self.nuisance, batch, draws, stream_root(self.seed, self.stream, self.device), further)

    @torch.inference_mode()
    def draws(self, pairs: Sequence[tuple[int, int]], severity: float = 1.0, within: int | None = None) -> list[Tensor]:
        """T_θ x (C, H, W) at each of (place, draw), with the θ of the run; `within` numbers further θ of a draw."""
        found: dict[int, Tensor] = {}
        numbers = torch.tensor([draw for _, draw in pairs], device=self.device)
        for rows, batch in self.images.groups([place for place, _ in pairs], self.device):
            theta = self._drawn(batch, numbers[rows.to(self.device)], within)
            found |= zip(rows.tolist(), self._made(batch, theta, severity), strict=True)
        return [found[row] for row in range(len(pairs))]

    @torch.inference_mode()
    def at(self, place: int, theta: Tensor, severity: float = 1.0) -> Tensor:
        """T_θ x (n, C, H, W) of one image at θ (n, d)."""
        one = self.images.batch([place], self.device)
        batch = one.take(torch.zeros(len(theta), dtype=torch.int64, device=one.images.device))
        return self._made(batch, theta.to(one.images.device), severity)

    def _made(self, batch: Batch, theta: Tensor, severity: float) -> Tensor:
        if severity == 1:
            return self.nuisance.apply(batch, theta)
        return transformed(self.nuisance, batch, theta, severity)
