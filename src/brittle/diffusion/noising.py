"""Latents with noise added, and the time that training has."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor


class Noised(NamedTuple):
    latents: Tensor  # (B, C, h, w) √ᾱ · x + √(1 − ᾱ) · ε
    noise: Tensor  # ε
    times: Tensor  # (B,)
    alpha: Tensor  # (B,) ᾱ


def noised(latents: Tensor, schedule: Tensor, generator: torch.Generator) -> Noised:
    """Each of the latents (B, C, h, w) with noise of a random time of the schedule ᾱ (T,)."""
    device = latents.device
    times = torch.randint(len(schedule), (len(latents),), generator=generator, device=device)
    noise = torch.randn(latents.shape, generator=generator, device=device, dtype=latents.dtype)
    alpha = schedule[times].to(latents)
    spread = alpha.view(-1, 1, 1, 1)
    return Noised(spread.sqrt() * latents + (1 - spread).sqrt() * noise, noise, times, alpha)


@dataclass
class Schedule:
    """A learning rate that rises, and falls to 0 as a cosine by the last step, or by the end of a time limit."""

    rate: float
    steps: int
    limit: float | None = None  # seconds
    warm_up: float = 0.05
    step: int = 0
    _began: float = field(default_factory=time.monotonic)

    @property
    def done(self) -> float:
        """The share of training that is over."""
        spent = 0.0 if self.limit is None else (time.monotonic() - self._began) / self.limit
        return min(1.0, max(self.step / self.steps, spent))

    def set_rate(self, optimiser: torch.optim.Optimizer) -> None:
        done = self.done
        share = done / self.warm_up if done < self.warm_up else 0.5 * (1 + math.cos(math.pi * done))
        for group in optimiser.param_groups:
            group["lr"] = self.rate * share
