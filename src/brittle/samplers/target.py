"""What a sampler knows: a prior it can draw from, a likelihood it can evaluate, and what it must return.

Everything is batched over images × draws: positions are (B, n, d), for B images with n positions each. A position
is z ~ N(0, I) if the nuisance has a latent form (`gaussian`), nearly so if each of its `parts` has one, and otherwise
θ itself.
"""

from __future__ import annotations

import math
from typing import ClassVar, Literal, NamedTuple, Protocol

import torch
from torch import Tensor


class Evaluation(NamedTuple):
    """What the classifier says at some positions."""

    log_likelihood: Tensor  # (B, n) log p(not ℓ | position), float64
    outcomes: Tensor  # (B, n, r) whatever else the target records about each position


class PriorDraws(NamedTuple):
    """Draws from the prior, and the classifier's answers there."""

    position: Tensor  # (B, n, d)
    evaluation: Evaluation
    calls: int  # classifier calls per image that this took


class Target(Protocol):
    """p(position | not ℓ, x) for a block of B images."""

    @property
    def keys(self) -> Tensor:
        """(B,) the root of each image's randomness."""
        ...

    @property
    def size(self) -> int:
        """d, the length of a position."""
        ...

    @property
    def gaussian(self) -> bool:
        """Whether the prior of positions is N(0, I)."""
        ...

    @property
    def parts(self) -> int:
        """The number of exchangeable parts of a position, each N(0, I) apart from its coupling to the others: 1 if
        positions are Gaussian, more if `log_prior` is that normalised density, 0 if there is no such form."""
        ...

    @property
    def hard(self) -> bool:
        """Whether p(not ℓ) is always 0 or 1, so that all its powers are equal."""
        ...

    @property
    def differentiable(self) -> bool:
        """Whether `evaluate_with_gradient` works."""
        ...

    @property
    def measured(self) -> int:
        """How many of the first draws from the prior a measurement has already evaluated."""
        ...

    def draw(self, keys: Tensor) -> Tensor:
        """keys (B, n) → positions (B, n, d), exactly from the prior."""
        ...

    def prior(self, count: int) -> PriorDraws:
        """The first `count` draws from the prior, evaluated unless a measurement has already done so."""
        ...

    def log_prior(self, position: Tensor) -> Tensor | None:
        """(B, n, d) → (B, n), up to a constant per image; None if no density exists."""
        ...

    def evaluate(self, position: Tensor) -> Evaluation:
        """One classifier call per position (B, n, d)."""
        ...

    def evaluate_with_gradient(self, position: Tensor) -> tuple[Evaluation, Tensor]:
        """Also the gradient (B, n, d) of the log-likelihood."""
        ...

    def take(self, images: Tensor) -> Target:
        """The same target for some of the images."""
        ...

    def with_measured_draws(self, drawn: PriorDraws) -> Target:
        """The same target, which remembers these first draws from the prior as if a measurement had made them."""
        ...


class Budget(NamedTuple):
    """How much work may be spent per image: steps of chains, or calls for a population."""

    chains: int = 8
    steps: int = 1000  # kept, after burn-in
    burn_in: int = 500
    start: Literal["prior", "worst"] = "worst"
    tries: int = 64  # prior draws from which a chain chooses its start
    calls: int = 2000  # for a population


class PosteriorDraws(NamedTuple):
    """Draws from the posteriors of B images. A population is a single, unordered chain of weighted draws."""

    position: Tensor  # (B, n, s, d) for n chains of s draws each
    log_weight: Tensor  # (B, n, s) 0 for every draw of a chain; −∞ marks an absent draw
    log_likelihood: Tensor  # (B, n, s)
    outcomes: Tensor  # (B, n, s, r)
    calls: Tensor  # (B,) classifier calls, including burn-in, all temperatures and gradients
    acceptance: Tensor  # (B,) share of proposals accepted; NaN if there are no proposals
    method: tuple[str, ...]  # the sampler used for each image
    chains: bool = True  # whether draws are successive states of chains
    families: Tensor | None = None  # (B, n, s) the first ancestor of each particle
    evidence: Tensor | None = None  # (B,) log of the estimated 1 − µ(x), if the sampler gives one
    from_prior: Tensor | None = None  # (B,) how many of the calls were of draws from the prior, if the sampler says so
    bounded: Tensor | None = None  # (B,) whether weights are p(not ℓ) itself, which is at most 1; None: nowhere

    @property
    def found(self) -> Tensor:
        """(B,) whether there are any draws."""
        return (self.log_weight > -torch.inf).flatten(1).any(1)


class Sampler(Protocol):
    """A sampling method. Its options are dataclass fields."""

    space: ClassVar[Literal["latent", "parameters"]]

    def check(self, target: Target) -> None:
        """Raises if this sampler can't handle the target."""
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
