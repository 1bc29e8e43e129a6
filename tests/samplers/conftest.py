"""Toy targets: a prior N(0, I) and any log p(not ℓ | z), without images, whose posteriors are known by other means."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import pytest
import scipy.integrate
import scipy.special
import scipy.stats
import torch
from torch import Tensor

from brittle.random import fold, normal, stream_root
from brittle.samplers.target import Evaluation, PosteriorDraws, PriorDraws


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Toys are too small for two."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@dataclass(frozen=True)
class Toy:
    """B images whose weak points are given by a formula. What is remembered of a position is its first number."""

    keys: Tensor  # (B,)
    prior_keys: Tensor  # (B,)
    size: int
    log_p: Callable[[Tensor, Tensor], Tensor]  # positions (B, n, d), facts (B, 1, f) → log p(not ℓ) (B, n)
    facts: Tensor  # (B, f) what sets one image apart from another
    gaussian: bool = True  # if not, the prior is the same but samplers aren't told
    density: bool = True
    hard: bool = False
    differentiable: bool = True
    measured: int = 0
    known: PriorDraws | None = None  # what was drawn before

    @property
    def parts(self) -> int:
        return int(self.gaussian)

    def draw(self, keys: Tensor) -> Tensor:
        return normal(keys, self.size)

    def prior(self, count: int) -> PriorDraws:
        position = self.draw(fold(self.prior_keys[:, None], torch.arange(count)))
        if self.known is None:
            return PriorDraws(position, self.evaluate(position), max(0, count - self.measured))
        have = min(count, self.known.position.shape[1])
        before = Evaluation(*(each[:, :have] for each in self.known.evaluation))
        if have == count:
            return PriorDraws(position, before, 0)
        parts = zip(before, self.evaluate(position[:, have:]), strict=True)
        return PriorDraws(position, Evaluation(*(torch.cat(each, 1) for each in parts)), count - have)

    def log_prior(self, position: Tensor) -> Tensor | None:
        return -0.5 * position.square().sum(-1) if self.density else None

    def evaluate(self, position: Tensor) -> Evaluation:
        return Evaluation(self.log_p(position, self.facts[:, None]).double(), position[..., :1].float())

    def evaluate_with_gradient(self, position: Tensor) -> tuple[Evaluation, Tensor]:
        moving = position.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(self.log_p(moving, self.facts[:, None]).sum(), moving)
        return self.evaluate(position), gradient.nan_to_num()

    def take(self, images: Tensor) -> Toy:
        known = self.known
        if known is not None:
            evaluation = Evaluation(*(each[images] for each in known.evaluation))
            known = PriorDraws(known.position[images], evaluation, known.calls)
        return replace(
            self, keys=self.keys[images], prior_keys=self.prior_keys[images], facts=self.facts[images], known=known
        )

    def with_measured_draws(self, drawn: PriorDraws) -> Toy:
        return replace(self, known=drawn)


def make(log_p: Callable[[Tensor, Tensor], Tensor], size: int, images: int, seed: int = 0, **more: object) -> Toy:
    facts = more.pop("facts", torch.zeros(images, 1, dtype=torch.float64))
    ids = torch.arange(images)
    roots = (fold(stream_root(seed, stream), ids) for stream in ("sampler", "prior"))
    return Toy(*roots, size, log_p, facts, **more)


@pytest.fixture
def toy() -> Callable[..., Toy]:
    """`toy(log_p, size, images)`: as many images with the same weak points are as many repetitions."""
    return make


class Linear(NamedTuple):
    """p(not ℓ | z) = sigmoid(s z₁ + b), or whether z₁ > −b where it is hard; any direction would do as well as z₁."""

    steepness: float
    offset: float
    hard: bool = False

    def log_p(self, z: Tensor, facts: Tensor) -> Tensor:
        if self.hard:
            return torch.where(z[..., 0] > -self.offset, 0.0, -torch.inf).double()
        return torch.nn.functional.logsigmoid(self.steepness * z[..., 0] + self.offset)

    def moment(self, power: int, about: float = 0.0) -> float:
        """∫ (x − about)^power p(not ℓ | x) N(x; 0, 1) dx, by quadrature."""

        def integrand(x: float) -> float:
            p = float(x > -self.offset) if self.hard else scipy.special.expit(self.steepness * x + self.offset)
            return (x - about) ** power * p * scipy.stats.norm.pdf(x)

        return scipy.integrate.quad(integrand, -12, 12, points=[-self.offset / self.steepness], limit=200)[0]

    @property
    def evidence(self) -> float:
        return self.moment(0)

    @property
    def mean(self) -> float:
        return self.moment(1) / self.evidence

    @property
    def variance(self) -> float:
        return self.moment(2, self.mean) / self.evidence


@pytest.fixture
def linear() -> type[Linear]:
    return Linear


def averages(found: PosteriorDraws, of: Callable[[Tensor], Tensor]) -> Tensor:
    """Each image's estimate (B,) of a posterior mean: `of` takes positions (B, draws, d) to (B, draws)."""
    weights = found.log_weight.flatten(1).softmax(1)
    return (weights * of(found.position.flatten(1, 2).double())).sum(1)


def agree(estimates: Tensor, truth: float) -> bool:
    """Whether repetitions (B,) have the truth for their mean, within 4.5 of its standard errors.

    For 30 repetitions or more that is missed once in 10,000 times."""
    error = (estimates.std() / math.sqrt(len(estimates))).item()
    return abs(estimates.mean().item() - truth) <= 4.5 * error


@pytest.fixture
def average() -> Callable[[PosteriorDraws, Callable[[Tensor], Tensor]], Tensor]:
    return averages


@pytest.fixture
def agrees() -> Callable[[Tensor, float], bool]:
    return agree
