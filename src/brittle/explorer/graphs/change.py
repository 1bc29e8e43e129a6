"""A nuisance as an ONNX graph: image, θ and severity in, T_θ x out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from brittle.errors import BrittleError
from brittle.explorer.graphs.export import exported
from brittle.measures.draws import draw_theta
from brittle.nuisances import transformed
from brittle.random import stream_root
from brittle.types import UNLABELLED, Batch, InScales, Nuisance

IMAGE, THETA, SEVERITY, ID, DRAW, CHANGED = "image", "theta", "severity", "id", "draw", "changed"
MOST_GIVEN = 2048  # numbers of θ that a page keeps for a draw; a field over the pixels is drawn by the graph itself


@dataclass(frozen=True)
class ChangeGraph:
    """An onnx.ModelProto with the inputs image (1, C, H, W), severity (1,), extras (1, H, W) each, and either theta
    (1, d) or id (1,) and draw (1,); its output is changed (1, C, H, W)."""

    model: Any
    draws: bool  # whether it takes id and draw, and makes θ itself
    extras: tuple[str, ...]

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.model.graph.input)


def change_graph(nuisance: Nuisance, batch: Batch, seed: int, stream: str) -> ChangeGraph:
    """For images of the shape of those in `batch`, which has all the extras that the nuisance reads."""
    if isinstance(nuisance, InScales):
        raise BrittleError("its images are stored, and are not made from others", "Look at them in the report.")
    one = batch.take(torch.zeros(1, dtype=torch.int64)).in_numbers()
    theta = nuisance.identity(one).to(torch.float32)
    draws = theta.shape[-1] >= math.prod(one.images.shape[1:]) or theta.shape[-1] > MOST_GIVEN
    extras = tuple(sorted(nuisance.needs))
    given = {IMAGE: one.images.contiguous(), SEVERITY: torch.ones(1)}
    given |= {ID: torch.zeros(1, dtype=torch.int64), DRAW: torch.zeros(1, dtype=torch.int64)} if draws else {}
    given |= {} if draws else {THETA: _some_theta(nuisance, one, seed, stream)}
    given |= {extra_input(place): one.extras[name].float() for place, name in enumerate(extras)}
    module = _Change(nuisance, extras, stream_root(seed, stream) if draws else None)
    model = exported(module, list(given.values()), list(given), [CHANGED])
    return ChangeGraph(model, draws, extras)


def extra_input(place: int) -> str:
    return f"extra_{place}"


def _some_theta(nuisance: Nuisance, one: Batch, seed: int, stream: str) -> Tensor:
    first = torch.zeros(1, dtype=torch.int64)
    return draw_theta(nuisance, one, first, stream_root(seed, stream)).float().contiguous()


class _Change(nn.Module):
    """What is exported: inputs in the order image, severity, then θ or what it is drawn from, then extras."""

    def __init__(self, nuisance: Nuisance, extras: tuple[str, ...], root: Tensor | None) -> None:
        super().__init__()
        self.nuisance, self.extras, self.root = nuisance, extras, root

    def forward(self, image: Tensor, severity: Tensor, *rest: Tensor) -> Tensor:
        used = 1 if self.root is None else 2
        extras = dict(zip(self.extras, rest[used:], strict=True))
        ids = torch.zeros(1, dtype=torch.int64) if self.root is None else rest[0]
        batch = Batch(image, torch.full((1,), UNLABELLED), ids, extras)
        theta = rest[0] if self.root is None else draw_theta(self.nuisance, batch, rest[1], self.root)
        return transformed(self.nuisance, batch, theta, severity)
