"""Classifiers whose answers along a shift are written down beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from cue_conflicts import made_stimuli
from torch import nn

from brittle.nuisances import nuisances
from brittle.nuisances.base.gaussian import GaussianNuisance

STEPS = 64  # images and severities are written as multiples of 1/64


@dataclass(frozen=True)
class Numbered(GaussianNuisance):
    """Writes the severity into the first pixel and leaves the rest: θ is 1 for every draw."""

    parameters = ("one",)

    def centre(self, batch: Any) -> torch.Tensor:
        return torch.zeros(1, dtype=torch.float64)

    def deviations(self, batch: Any) -> torch.Tensor:
        return torch.ones(1, dtype=torch.float64)

    def push(self, z: torch.Tensor, batch: Any) -> torch.Tensor:
        return torch.ones_like(z[..., :1])

    def apply(self, batch: Any, theta: torch.Tensor) -> torch.Tensor:
        images = batch.images.clone()
        images[:, 0, 0, 0] = theta[:, 0] / STEPS
        return images

    def describe(self, height: int, width: int) -> str:
        return "a number in a corner"


@pytest.fixture(scope="module")
def numbered() -> Iterator[str]:
    """The name of a nuisance whose severities 1, 2, … are the columns of what `scripted` is given."""
    nuisances.names()
    nuisances.register("numbered")(Numbered)
    yield "numbered"
    del nuisances._kinds["numbered"]


@pytest.fixture(scope="session")
def scripted() -> Callable[..., tuple[dict[str, Any], tuple[torch.Tensor, torch.Tensor]]]:
    """Whether classifiers are right, by name (M, 1 + S) → classifiers by name, and M images of label 0."""

    def made(**right: Any) -> tuple[dict[str, Any], tuple[torch.Tensor, torch.Tensor]]:
        count = len(next(iter(right.values())))
        pixels = torch.zeros(count, 1, 2, 3)
        pixels[:, 0, 0, 1], pixels[:, 0, 0, 2] = (
            torch.arange(count) % STEPS / STEPS,
            torch.arange(count) // STEPS / STEPS,
        )
        return {name: _told(np.asarray(each, bool)) for name, each in right.items()}, (
            pixels,
            torch.zeros(count, dtype=torch.int64),
        )

    return made


def _told(right: np.ndarray[Any, Any]) -> Callable[[torch.Tensor], torch.Tensor]:
    def logits(pixels: torch.Tensor) -> torch.Tensor:
        severity, low, high = ((STEPS * pixels[:, 0, 0, at]).round().long() for at in range(3))
        wrong = ~torch.from_numpy(right)[low + STEPS * high, severity]
        return 4.0 * nn.functional.one_hot(wrong.long(), 2).float()

    return logits


@pytest.fixture(scope="session")
def stimuli(tmp_path_factory):
    """Cue-conflict stimuli of which shape and texture can be read."""
    return made_stimuli(tmp_path_factory.mktemp("stimuli"))
