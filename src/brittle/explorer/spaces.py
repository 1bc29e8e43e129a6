"""A nuisance on an image set, as sliders need it: its parameters with their ranges, and its severities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from brittle.engine.replay import Replay
from brittle.measures.severities import scale_of
from brittle.types import Batch, InScales, Nuisance, ParameterUnits, ReadableTheta

MOST_SLIDERS = 16  # a θ of more numbers is chosen by the number of a draw
LOOKED_AT = 512  # draws of the prior that say how wide sliders are
WIDER = 0.25  # of what they span, to either side, as far as the prior allows
STEPS = 400  # of a slider


class Parameter(NamedTuple):
    """One number of θ."""

    name: str
    unit: str
    low: float
    high: float
    step: float
    identity: float


def parameters_of(replay: Replay, place: int) -> list[Parameter]:
    """The numbers of θ on the image at a place; none where θ has too many, or is a stored severity."""
    nuisance, batch = replay.nuisance, replay.batch([place])
    identity = nuisance.identity(batch)[0].double()
    names = nuisance.parameters
    if isinstance(nuisance, InScales) or len(identity) != len(names) or len(names) > MOST_SLIDERS:
        return []
    drawn = replay.prior(batch, LOOKED_AT)[0].double()
    units = _units(nuisance, names)
    return [
        Parameter(name, units[name], *_range(nuisance, batch, drawn, identity, place), float(identity[place]))
        for place, name in enumerate(names)
    ]


def readings_of(nuisance: Nuisance) -> list[dict[str, str]]:
    """The other numbers that θ is told in."""
    if not isinstance(nuisance, ReadableTheta):
        return []
    units = _units(nuisance, nuisance.readings)
    return [{"name": name, "unit": units[name]} for name in nuisance.readings]


def read(nuisance: Nuisance, theta: Tensor, shape: Sequence[int]) -> list[float] | None:
    """θ (d,) in those numbers."""
    if not isinstance(nuisance, ReadableTheta):
        return None
    return [float(each) for each in nuisance.read_theta(theta.double()[None], *shape[-2:])[0]]


def scale(nuisance: Nuisance) -> dict[str, Any]:
    """The severities that a slider goes through."""
    found = scale_of(nuisance)
    values = [0.0, *found.coarse] if found.fixed else None
    return {"unit": found.unit, "per_severity": found.per_severity, "limit": found.coarse[-1], "values": values}


def relative_log_prior(nuisance: Nuisance, batch: Batch, theta: Tensor) -> Tensor | None:
    """θ (n, d) of one image → log p(θ | x) minus its value at the identity (n,); None where there is no density."""
    together = torch.cat((nuisance.identity(batch).double(), theta.double().to(batch.images.device)))
    found = nuisance.log_prior(together[None], batch)
    if found is None or not bool(found[0, 0].isfinite()):
        return None
    return found[0, 1:] - found[0, 0]


def _units(nuisance: Nuisance, names: Sequence[str]) -> Mapping[str, str]:
    said = nuisance.parameter_units if isinstance(nuisance, ParameterUnits) else {}
    usual = {"angle": "degrees", "direction": "degrees"}
    return {name: said.get(name, usual.get(name, "")) for name in names}


def _range(nuisance: Nuisance, batch: Batch, drawn: Tensor, identity: Tensor, place: int) -> tuple[float, float, float]:
    """From where to where nearly all of the prior lies, the identity included, and a step."""
    values = drawn[:, place]
    low, high = (float(each) for each in torch.stack((values.min(), values.max())))
    low, high = min(low, float(identity[place])), max(high, float(identity[place]))
    if bool((drawn[:, place] == drawn[:, place].round()).all()) and float(identity[place]).is_integer():
        return low, max(high, low + 1), 1.0
    span = (high - low) or 1.0
    low = _as_far_as_allowed(nuisance, batch, drawn, place, low, low - WIDER * span)
    high = _as_far_as_allowed(nuisance, batch, drawn, place, high, high + WIDER * span)
    return low, high, (high - low) / STEPS


def _as_far_as_allowed(
    nuisance: Nuisance, batch: Batch, drawn: Tensor, place: int, inner: float, outer: float
) -> float:
    """The outer end where the prior has a density there for some draw, otherwise the inner one."""
    moved = drawn.clone()
    moved[:, place] = outer
    density = nuisance.log_prior(moved[None], batch)
    return outer if density is not None and bool(density.isfinite().any()) else inner
