"""What a sampler knows: a prior it can draw from, a likelihood it can look up, and what it must give back.

Everything is batched over images × draws: positions are (B, n, d), for B images with n positions each. A position
is z ~ N(0, I) where the nuisance has a latent form (`gaussian`), z nearly so where each of its `parts` has one, and θ
itself otherwise.
"""

from __future__ import annotations

import math
from typing import ClassVar, Literal, NamedTuple, Protocol

import torch
from torch import Tensor


class Evaluation(NamedTuple):
    """What the classifier says at some positions."""

    log_likelihood: Tensor  # (B, n) log p(not ℓ | position), float64
    outcomes: Tensor  # (B, n, r) whatever else is to be remembered of each position


class PriorDraws(NamedTuple):
    """Draws of the prior, and what was seen there."""

    position: Tensor  # (B, n, d)
    evaluation: Evaluation
    calls: int  # classifier calls of an image that this took


class Target(Protocol):
    """p(position | not ℓ, x) of a block of B images."""

    @property
    def keys(self) -> Tensor:
        """(B,) the root of each image's randomness."""
        ...

    @property
    def size(self) -> int:
        """d, the numbers of a position."""
        ...

    @property
    def gaussian(self) -> bool:
        """Whether the prior of positions is N(0, I)."""
        ...

    @property
    def parts(self) -> int:
        """Into how many alike parts a position falls, each of them N(0, I) but for what couples it to the others: 1
        where positions are Gaussian, more where `log_prior` is that normalised density, 0 where there is none."""
        ...

    @property
    def hard(self) -> bool:
        """Whether p(not ℓ) is 0 or 1 and nothing between, so that its powers are itself."""
        ...

    @property
    def differentiable(self) -> bool:
        """Whether `slope` can be had."""
        ...

    @property
    def measured(self) -> int:
        """How many of the prior's first draws a measurement has looked at."""
        ...

    def draw(self, keys: Tensor) -> Tensor:
        """keys (B, n) → positions (B, n, d), exactly from the prior."""
        ...

    def prior(self, count: int) -> PriorDraws:
        """The first `count` draws of the prior, looked at unless a measurement has seen them already."""
        ...

    def log_prior(self, position: Tensor) -> Tensor | None:
        """(B, n, d) → (B, n), up to a constant of the image; None where there is no density."""
        ...

    def evaluate(self, position: Tensor) -> Evaluation:
        """One classifier call for each position (B, n, d)."""
        ...

    def evaluate_with_gradient(self, position: Tensor) -> tuple[Evaluation, Tensor]:
        """Also the gradient (B, n, d) of the log-likelihood."""
        ...

    def take(self, images: Tensor) -> Target:
        """The same for some of the images."""
        ...


class Budget(NamedTuple):
    """How much work an image may cost: steps of chains, or calls of a population."""

    chains: int = 8
    steps: int = 1000  # kept ones, after burn-in
    burn_in: int = 500
    start: Literal["prior", "worst"] = "worst"
    tries: int = 64  # prior draws that a chain looks at for its start
    calls: int = 2000  # of a population


class PosteriorDraws(NamedTuple):
    """Draws of the posterior of B images. A population is a single chain of weighted draws, in no order."""

    position: Tensor  # (B, n, s, d) of n chains, s draws each
    log_weight: Tensor  # (B, n, s) 0 for every draw of a chain; −∞ is no draw at all
    log_likelihood: Tensor  # (B, n, s)
    outcomes: Tensor  # (B, n, s, r)
    calls: Tensor  # (B,) classifier calls, with those of burn-in, of every temperature and of gradients
    acceptance: Tensor  # (B,) share of proposals accepted; NaN where nothing is proposed
    method: tuple[str, ...]  # what each image was sampled with
    chains: bool = True  # whether draws are successive states of chains
    families: Tensor | None = None  # (B, n, s) which first ancestor a particle stems from
    evidence: Tensor | None = None  # (B,) log of the estimated 1 − µ(x), where the sampler gives one

    @property
    def found(self) -> Tensor:
        """(B,) whether there is any draw."""
        return (self.log_weight > -torch.inf).flatten(1).any(1)


class Sampler(Protocol):
    """One way to draw. Its options are dataclass fields."""

    space: ClassVar[Literal["latent", "parameters"]]

    def check(self, target: Target) -> None:
        """Raises if this sampler can't draw from such a target."""
        ...

    def sample(self, target: Target, budget: Budget) -> PosteriorDraws: ...


def standard_normal(z: Tensor) -> Tensor:
    """log N(z; 0, I): (..., d) → (...)"""
    return -0.5 * z.square().sum(-1) - 0.5 * z.shape[-1] * math.log(2 * math.pi)


def log_density(target: Target, position: Tensor) -> Tensor:
    """The normalised log-prior (B, n) of a target that has one."""
    found = standard_normal(position) if target.gaussian else target.log_prior(position)
    assert found is not None
    return found
