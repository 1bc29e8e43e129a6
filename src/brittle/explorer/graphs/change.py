"""A nuisance as an ONNX graph: image, θ and severity in, T_θ x out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from brittle.errors import BrittleError
from brittle.explorer.graphs.export import exported
from brittle.libraries import first_line
from brittle.measures.draws import draw_theta
from brittle.nuisances import transformed
from brittle.random import stream_root
from brittle.types import UNLABELLED, Batch, InScales, Nuisance, ReadableTheta

IMAGE, THETA, SEVERITY, ID, DRAW = "image", "theta", "severity", "id", "draw"
CHANGED, READINGS, LOG_PRIOR = "changed", "readings", "log_prior"
MOST_GIVEN = 2048  # numbers of θ that a page keeps for a draw; a field over the pixels is drawn by the graph itself


@dataclass(frozen=True)
class ChangeGraph:
    """An onnx.ModelProto with the inputs image (1, C, H, W), severity (1,), extras (1, H, W) each, and either theta
    (1, d) or id (1,) and draw (1,). Its output is changed (1, C, H, W); where they exist, also readings (1, k), and
    log_prior (1,), which is log p(θ | x) minus its value at the identity."""

    model: Any
    draws: bool  # whether it takes id and draw, and makes θ itself
    extras: tuple[str, ...]

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.model.graph.input)

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.model.graph.output)


def change_graph(nuisance: Nuisance, batch: Batch, seed: int, stream: str) -> ChangeGraph:
    """For images of the shape of those in `batch`, which has all the extras that the nuisance reads."""
    if isinstance(nuisance, InScales):
        raise BrittleError("its images are stored, and are not made from others", "Look at them in the report.")
    one = batch.take(torch.zeros(1, dtype=torch.int64)).in_numbers()
    numbers, extras = nuisance.identity(one).shape[-1], tuple(sorted(nuisance.needs))
    draws = numbers >= math.prod(one.images.shape[1:]) or numbers > MOST_GIVEN
    given = {IMAGE: one.images.float().contiguous(), SEVERITY: torch.ones(1)}
    first, root = torch.zeros(1, dtype=torch.int64), stream_root(seed, stream)
    if draws:
        given |= {ID: first, DRAW: first.clone()}  # one tensor twice would become one input
    else:
        given[THETA] = draw_theta(nuisance, one, first, root).float().contiguous()
    given |= {extra_input(place): one.extras[name].float() for place, name in enumerate(extras)}

    def written(told: tuple[str, ...]) -> ChangeGraph:
        module = _Change(nuisance, extras, root if draws else None, told)
        model = exported(module, list(given.values()), list(given), [CHANGED, *told])
        return ChangeGraph(_tried(model, given), draws, extras)

    if (told := () if draws else _told(nuisance, one)) and len(nuisance.parameters) == numbers:
        try:
            return written(told)
        except BrittleError:  # densities compute with more kinds of operations than pictures
            pass
    return written(())


def extra_input(place: int) -> str:
    return f"extra_{place}"


def _told(nuisance: Nuisance, one: Batch) -> tuple[str, ...]:
    """What is known of θ besides the picture."""
    density = nuisance.log_prior(nuisance.identity(one)[None], one)
    finite = density is not None and bool(density.isfinite().all())
    return (*([READINGS] if isinstance(nuisance, ReadableTheta) else []), *([LOG_PRIOR] if finite else []))


def _tried(model: Any, given: dict[str, Tensor]) -> Any:
    """The model, which onnxruntime has carried out once."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        session.run(None, {name: value.numpy() for name, value in given.items()})
    except Exception as error:
        raise BrittleError(f"onnxruntime can't run its graph: {first_line(error)}", "Use the local page.") from error
    return model


class _Change(nn.Module):
    """What is exported: inputs in the order image, severity, then θ or what it is drawn from, then extras."""

    def __init__(self, nuisance: Nuisance, extras: tuple[str, ...], root: Tensor | None, told: tuple[str, ...]) -> None:
        super().__init__()
        self.nuisance, self.extras, self.root, self.told = nuisance, extras, root, told

    def forward(self, image: Tensor, severity: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
        used = 1 if self.root is None else 2
        extras = dict(zip(self.extras, rest[used:], strict=True))
        ids = torch.zeros(1, dtype=torch.int64) if self.root is None else rest[0]
        batch = Batch(image, torch.full((1,), UNLABELLED), ids, extras)
        theta = rest[0] if self.root is None else draw_theta(self.nuisance, batch, rest[1], self.root)
        found = [transformed(self.nuisance, batch, theta, severity)]
        nuisance = self.nuisance
        if READINGS in self.told and isinstance(nuisance, ReadableTheta):
            height, width = image.shape[-2:]
            found.append(nuisance.read_theta(theta.double(), height, width).float())
        if LOG_PRIOR in self.told:
            both = torch.cat((nuisance.identity(batch).double(), theta.double()))
            density = nuisance.log_prior(both[None], batch)
            assert density is not None
            found.append((density[0, 1:] - density[0, :1]).float())
        return tuple(found)
