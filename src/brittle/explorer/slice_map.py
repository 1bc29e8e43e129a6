"""How likely a wrong answer is over two numbers of θ, with the others as they are."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

import torch
from torch import Tensor

from brittle.errors import BrittleError
from brittle.explorer.evaluate import theta_of
from brittle.explorer.queries import MapQuery
from brittle.explorer.session import ImagePlace, Session, finite
from brittle.explorer.spaces import relative_log_prior
from brittle.measures.outcomes import outcome
from brittle.memory import slices
from brittle.types import Classifier

AT_ONCE = 48  # pictures between which other questions may be answered
FEWEST, MOST = 9, 33  # points per side
SECONDS = 1.5  # that a map may take, as the first pictures judge


@torch.inference_mode()
def posterior_map(session: Session, query: MapQuery) -> Generator[None, None, dict[str, Any]]:
    """The map, in steps: between two of them whoever computes it may do something else."""
    found = session.at(query.set, query.image, query.nuisance, query.classifier, query.own)
    classifier, theta = session.classifier(query.classifier), theta_of(found, query)
    parameters = session.parameters(query.set, query.nuisance)
    if not (query.x < len(parameters) and query.y < len(parameters)) or query.x == query.y:
        raise BrittleError("a map needs two numbers of θ", "Choose two among the nuisance's parameters.")
    ends = [
        (min(each.low, float(theta[at])), max(each.high, float(theta[at])))
        for at, each in ((query.x, parameters[query.x]), (query.y, parameters[query.y]))
    ]
    label = _label(session, query, found, classifier)
    trial = theta.repeat(4, 1)
    _wrong(found, classifier, trial, label)  # warm
    started = time.monotonic()
    _wrong(found, classifier, trial, label)
    each = max(1e-6, (time.monotonic() - started) / len(trial))
    yield
    side = int(min(MOST, max(FEWEST, (SECONDS / each) ** 0.5)))
    x, y = (torch.linspace(low, high, side) for low, high in ends)
    every = theta.repeat(side * side, 1)
    every[:, query.x], every[:, query.y] = x.repeat(side), y.repeat_interleave(side)
    wrong = []
    for part in slices(len(every), AT_ONCE):
        wrong.append(_wrong(found, classifier, every[part], label))
        yield
    shares = torch.cat(wrong).view(side, side)
    density = relative_log_prior(found.replay.nuisance, found.replay.batch([found.place]), every)
    return {
        "x": [float(value) for value in x],
        "y": [float(value) for value in y],
        "wrong": _rows(shares),
        "log_prior": None if density is None else _rows(density.view(side, side)),
    }


def _wrong(found: ImagePlace, classifier: Classifier, theta: Tensor, label: int) -> Tensor:
    """p(not the label) (n,) at θ (n, d)."""
    said = outcome(classifier.log_probs(found.replay.at(found.place, theta)), torch.full((len(theta),), label))
    return said.log_p_other.exp()


def _label(session: Session, query: MapQuery, found: ImagePlace, classifier: Classifier) -> int:
    """The right class; without one, what the classifier says of the untouched image."""
    label = session.label(query.classifier, query.set, found.place, query.own)
    if label >= 0:
        return label
    return int(classifier.log_probs(found.replay.batch([found.place]).images)[0].argmax())


def _rows(values: Tensor) -> list[list[float | None]]:
    return [[_rounded(float(value)) for value in row] for row in values]


def _rounded(value: float) -> float | None:
    number = finite(value)
    return None if number is None else round(number, 4)
